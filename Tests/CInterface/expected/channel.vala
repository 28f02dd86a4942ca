came gint 1
came gdouble 1.500000
came gchararray "text"
came gboolean TRUE
undelivered nobody's
true false
