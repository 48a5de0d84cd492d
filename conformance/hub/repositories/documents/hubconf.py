import functools
from functools import partial

dependencies = ["torch"]


def indented(a, b=2, *args, c, d='x', **kwargs):
    '''
    First line.

        Code block
    Args:
        a (int): a number
    '''


def joined():
    "one " 'two'


def formatted(x: int = 1):
    f"no docstring {1}"


def data():
    b"no docstring"


def none():
    pass


def positional(a, /, b, *, c=1.5):
    '''Positional: é ü'''


class Plain:
    '''Docstring of the class.

    More.
    '''

    def __init__(self, x, y=None):
        '''Docstring of init'''


class Derived(Plain):
    def other(self):
        pass


part = partial(indented, 1, c=3)
documented = partial(indented, 2)
documented.__doc__ = "Documented part"
function = lambda a, b=1: a
formatted_later = formatted
joined.__doc__ = joined.__doc__ + "three"
