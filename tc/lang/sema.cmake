# Names, types and calls of the language; the typed program and its texts.
set(TC_LANG_SEMA_SOURCES
  typed_expr.cpp
  typed_print.cpp
)
