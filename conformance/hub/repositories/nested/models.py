def only_here():
    return 1
