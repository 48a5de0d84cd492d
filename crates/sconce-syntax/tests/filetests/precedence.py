# How tightly operators bind. `and` and `or` bind alike; comparisons do not chain.

# test: tree exp
a or b and c
#| (and
#|   (or
#|     (variable (ident a))
#|     (variable (ident b)))
#|   (variable (ident c)))

# test: tree exp
a and b or c
#| (or
#|   (and
#|     (variable (ident a))
#|     (variable (ident b)))
#|   (variable (ident c)))

# test: tree exp
not a and b
#| (and
#|   (not (variable (ident a)))
#|   (variable (ident b)))

# test: tree exp
not a == b
#| (not
#|   (eq
#|     (variable (ident a))
#|     (variable (ident b))))

# test: tree exp
~a + b
#| (~
#|   (+
#|     (variable (ident a))
#|     (variable (ident b))))

# test: tree exp
~a ** b
#| (~
#|   (pow operator
#|     (variable (ident a))
#|     (variable (ident b))))

# test: tree exp
a < b < c
#| (<
#|   (<
#|     (variable (ident a))
#|     (variable (ident b)))
#|   (variable (ident c)))

# test: tree exp
a == b in c
#| (in
#|   (eq
#|     (variable (ident a))
#|     (variable (ident b)))
#|   (variable (ident c)))

# test: tree exp
a | b ^ c & d
#| (|
#|   (variable (ident a))
#|   (^
#|     (variable (ident b))
#|     (&
#|       (variable (ident c))
#|       (variable (ident d)))))

# test: tree exp
a & b ^ c | d
#| (|
#|   (^
#|     (&
#|       (variable (ident a))
#|       (variable (ident b)))
#|     (variable (ident c)))
#|   (variable (ident d)))

# test: tree exp
a << b + c
#| (<<
#|   (variable (ident a))
#|   (+
#|     (variable (ident b))
#|     (variable (ident c))))

# test: tree exp
a + b << c
#| (<<
#|   (+
#|     (variable (ident a))
#|     (variable (ident b)))
#|   (variable (ident c)))

# test: tree exp
a + b * c
#| (+
#|   (variable (ident a))
#|   (*
#|     (variable (ident b))
#|     (variable (ident c))))

# test: tree exp
a * b + c
#| (+
#|   (*
#|     (variable (ident a))
#|     (variable (ident b)))
#|   (variable (ident c)))

# test: tree exp
a - b - c
#| (-
#|   (-
#|     (variable (ident a))
#|     (variable (ident b)))
#|   (variable (ident c)))

# test: tree exp
a / b / c
#| (/
#|   (/
#|     (variable (ident a))
#|     (variable (ident b)))
#|   (variable (ident c)))

# test: tree exp
a // b % c @ d
#| (@
#|   (%
#|     (floordiv
#|       (variable (ident a))
#|       (variable (ident b)))
#|     (variable (ident c)))
#|   (variable (ident d)))

# test: tree exp
-a * b
#| (*
#|   (unary minus (variable (ident a)))
#|   (variable (ident b)))

# test: tree exp
-a ** b
#| (unary minus
#|   (pow operator
#|     (variable (ident a))
#|     (variable (ident b))))

# test: tree exp
a ** b ** c
#| (pow operator
#|   (variable (ident a))
#|   (pow operator
#|     (variable (ident b))
#|     (variable (ident c))))

# test: tree exp
a ** -b
#| (pow operator
#|   (variable (ident a))
#|   (unary minus (variable (ident b))))

# test: tree exp
2 ** -1
#| (pow operator (const 2) (const -1))

# test: tree exp
a if b else c if d else e
#| (if
#|   (variable (ident b))
#|   (variable (ident a))
#|   (if
#|     (variable (ident d))
#|     (variable (ident c))
#|     (variable (ident e))))

# test: tree exp
a or b if c else d
#| (if
#|   (variable (ident c))
#|   (or
#|     (variable (ident a))
#|     (variable (ident b)))
#|   (variable (ident d)))

# test: tree exp
a if b or c else d or e
#| (if
#|   (or
#|     (variable (ident b))
#|     (variable (ident c)))
#|   (variable (ident a))
#|   (or
#|     (variable (ident d))
#|     (variable (ident e))))

# test: tree exp
a is not b
#| (is not
#|   (variable (ident a))
#|   (variable (ident b)))

# test: tree exp
a not in b
#| (not
#|   (in
#|     (variable (ident a))
#|     (variable (ident b))))

# test: tree exp
not a not in b
#| (not
#|   (not
#|     (in
#|       (variable (ident a))
#|       (variable (ident b)))))

# test: tree exp
a is b is not c
#| (is not
#|   (is
#|     (variable (ident a))
#|     (variable (ident b)))
#|   (variable (ident c)))

# test: tree exp
*a + b
#| (+
#|   (starred (variable (ident a)))
#|   (variable (ident b)))
