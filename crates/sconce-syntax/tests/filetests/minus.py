# A minus before a number is part of the number, unless something binds tighter.

# test: tree exp
-1
#| (const -1)

# test: tree exp
- 1
#| (const -1)

# test: tree exp
-1.5
#| (const -1.5)

# test: tree exp
-2j
#| (const -2j)

# test: tree exp
-(1)
#| (const -1)

# test: tree exp
-1 ** 2
#| (unary minus
#|   (pow operator (const 1) (const 2)))

# test: tree exp
-1 + 2
#| (+ (const -1) (const 2))

# test: tree exp
a -1
#| (- (variable (ident a)) (const 1))

# test: tree exp
a - -1
#| (- (variable (ident a)) (const -1))

# test: tree exp
-a
#| (unary minus (variable (ident a)))

# test: tree exp
-1 .b
#| (unary minus (. (const 1) (ident b)))

# test: tree exp
-x[0]
#| (unary minus
#|   (subscript
#|     (variable (ident x))
#|     (list (const 0))))

# test: tree exp
~-1
#| (~ (const -1))
