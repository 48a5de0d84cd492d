dependencies = ["torch"]


def first():
    """1"""


def second():
    """2"""


class Third(object):
    pass


def __dir__():
    return ["second", "dependencies", "Third"]
