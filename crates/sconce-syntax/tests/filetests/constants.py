# Numbers, strings and the words that are values.

# test: tree exp
1
#| (const 1)

# test: tree exp
9223372036854775807
#| (const 9223372036854775807)

# test: tree exp
-9223372036854775808
#| (const -9223372036854775808)

# test: tree exp
010
#| (const 010)

# test: tree exp
0x1F
#| (const 0x1F)

# test: tree exp
1.5
#| (const 1.5)

# test: tree exp
.5
#| (const .5)

# test: tree exp
1.
#| (const 1.)

# test: tree exp
1e-3
#| (const 1e-3)

# test: tree exp
2j
#| (const 2j)

# test: tree exp
1.5e3j
#| (const 1.5e3j)

# test: tree exp
True
#| (True)

# test: tree exp
False
#| (False)

# test: tree exp
None
#| (None)

# test: tree exp
NoneType
#| (NoneType)

# test: tree exp
...
#| (dots)

# test: tree exp
Ellipsis
#| (dots)

# test: tree exp
"a"
#| (string_literal a)

# test: tree exp
'a' "b" '''c
d'''
#| (string_literal abc
#| d)

# test: tree exp
"\\\"\n\001\303\251"
#| (string_literal \"
#| é)

# test: tree exp
"é"
#| (string_literal é)

# test: tree exp
"a\
b"
#| (string_literal a
#| b)

# test: tree exp
""
#| (string_literal )
