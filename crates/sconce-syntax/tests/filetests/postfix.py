# Attributes, calls and subscripts.

# test: tree exp
a.b.c
#| (.
#|   (. (variable (ident a)) (ident b))
#|   (ident c))

# test: tree exp
f()
#| (apply
#|   (variable (ident f))
#|   (list)
#|   (list))

# test: tree exp
f(a, )
#| (apply
#|   (variable (ident f))
#|   (list (variable (ident a)))
#|   (list))

# test: tree exp
f(a, b=c, d=e)
#| (apply
#|   (variable (ident f))
#|   (list (variable (ident a)))
#|   (list
#|     (attribute
#|       (ident b)
#|       (variable (ident c)))
#|     (attribute
#|       (ident d)
#|       (variable (ident e)))))

# test: tree exp
f(a=1, b)
#| (apply
#|   (variable (ident f))
#|   (list (variable (ident b)))
#|   (list
#|     (attribute (ident a) (const 1))))

# test: tree exp
f(*a)
#| (apply
#|   (variable (ident f))
#|   (list (starred (variable (ident a))))
#|   (list))

# test: tree exp
a.b(c).d[e](f)
#| (apply
#|   (subscript
#|     (.
#|       (apply
#|         (.
#|           (variable (ident a))
#|           (ident b))
#|         (list (variable (ident c)))
#|         (list))
#|       (ident d))
#|     (list (variable (ident e))))
#|   (list (variable (ident f)))
#|   (list))

# test: tree exp
a[0]
#| (subscript
#|   (variable (ident a))
#|   (list (const 0)))

# test: tree exp
a[0, 1]
#| (subscript
#|   (variable (ident a))
#|   (list (const 0) (const 1)))

# test: tree exp
a[0, ]
#| (subscript
#|   (variable (ident a))
#|   (list (const 0)))

# test: tree exp
a[:]
#| (subscript
#|   (variable (ident a))
#|   (list
#|     (slice expr
#|       (option)
#|       (option)
#|       (option))))

# test: tree exp
a[1:]
#| (subscript
#|   (variable (ident a))
#|   (list
#|     (slice expr
#|       (option (const 1))
#|       (option)
#|       (option))))

# test: tree exp
a[:1]
#| (subscript
#|   (variable (ident a))
#|   (list
#|     (slice expr
#|       (option)
#|       (option (const 1))
#|       (option))))

# test: tree exp
a[1:2]
#| (subscript
#|   (variable (ident a))
#|   (list
#|     (slice expr
#|       (option (const 1))
#|       (option (const 2))
#|       (option))))

# test: tree exp
a[::]
#| (subscript
#|   (variable (ident a))
#|   (list
#|     (slice expr
#|       (option)
#|       (option)
#|       (option))))

# test: tree exp
a[1:2:3]
#| (subscript
#|   (variable (ident a))
#|   (list
#|     (slice expr
#|       (option (const 1))
#|       (option (const 2))
#|       (option (const 3)))))

# test: tree exp
a[::-1]
#| (subscript
#|   (variable (ident a))
#|   (list
#|     (slice expr
#|       (option)
#|       (option)
#|       (option (const -1)))))

# test: tree exp
a[:, None, ..., 1:]
#| (subscript
#|   (variable (ident a))
#|   (list
#|     (slice expr
#|       (option)
#|       (option)
#|       (option))
#|     (None)
#|     (dots)
#|     (slice expr
#|       (option (const 1))
#|       (option)
#|       (option))))

# test: tree exp
a[b[c]]
#| (subscript
#|   (variable (ident a))
#|   (list
#|     (subscript
#|       (variable (ident b))
#|       (list (variable (ident c))))))

# test: tree exp
a[]
#| (subscript (variable (ident a)) (list))

# test: tree exp
(a)(b)
#| (apply
#|   (variable (ident a))
#|   (list (variable (ident b)))
#|   (list))

# test: tree exp
(a)[0]
#| (subscript
#|   (variable (ident a))
#|   (list (const 0)))

# test: tree exp
[1][0]
#| (subscript
#|   (list-literal (list (const 1)))
#|   (list (const 0)))

# test: tree exp
'a'.b
#| (. (string_literal a) (ident b))

# test: tree exp
1 .real
#| (. (const 1) (ident real))

# test: tree exp
f(
  a,  # said
  b
)
#| (apply
#|   (variable (ident f))
#|   (list
#|     (variable (ident a))
#|     (variable (ident b)))
#|   (list))
