# Lists, tuples, dicts and comprehensions.

# test: tree exp
[]
#| (list-literal (list))

# test: tree exp
[1]
#| (list-literal (list (const 1)))

# test: tree exp
[1, 2, ]
#| (list-literal
#|   (list (const 1) (const 2)))

# test: tree exp
()
#| (tuple-literal (list))

# test: tree exp
(1)
#| (const 1)

# test: tree exp
(1,)
#| (tuple-literal (list (const 1)))

# test: tree exp
(1, 2)
#| (tuple-literal
#|   (list (const 1) (const 2)))

# test: tree exp
((1, 2), 3)
#| (tuple-literal
#|   (list
#|     (tuple-literal
#|       (list (const 1) (const 2)))
#|     (const 3)))

# test: tree exp
{}
#| (dict-literal (list) (list))

# test: tree exp
{1: 2}
#| (dict-literal
#|   (list (const 1))
#|   (list (const 2)))

# test: tree exp
{1: 2, 'a': [3]}
#| (dict-literal
#|   (list (const 1) (string_literal a))
#|   (list
#|     (const 2)
#|     (list-literal (list (const 3)))))

# test: tree exp
[x for x in y]
#| (list comprehension
#|   (variable (ident x))
#|   (variable (ident x))
#|   (variable (ident y)))

# test: tree exp
[x + 1 for x in range(3)]
#| (list comprehension
#|   (+ (variable (ident x)) (const 1))
#|   (variable (ident x))
#|   (apply
#|     (variable (ident range))
#|     (list (const 3))
#|     (list)))

# test: tree exp
[x if x else y for x in z]
#| (list-literal
#|   (list
#|     (if
#|       (variable (ident x))
#|       (variable (ident x))
#|       (list comprehension
#|         (variable (ident y))
#|         (variable (ident x))
#|         (variable (ident z))))))

# test: tree exp
{k: v for k in d}
#| (dict comprehension
#|   (variable (ident k))
#|   (variable (ident v))
#|   (variable (ident k))
#|   (variable (ident d)))

# test: tree exp
[a for (a, b) in c]
#| (list comprehension
#|   (variable (ident a))
#|   (tuple-literal
#|     (list
#|       (variable (ident a))
#|       (variable (ident b))))
#|   (variable (ident c)))

# test: tree exp
[a for a.b in c]
#| (list comprehension
#|   (variable (ident a))
#|   (. (variable (ident a)) (ident b))
#|   (variable (ident c)))

# test: tree exp
x for x in y
#| (list comprehension
#|   (variable (ident x))
#|   (variable (ident x))
#|   (variable (ident y)))
