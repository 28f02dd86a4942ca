true
true
true
true
true
came number 1
came number 1.5
came string text
came boolean true
came object ('text', 1)
came string last
true
true
true true
undelivered nobody's
true false
