from models import *
from extra import *
dependencies = ["torch"]
