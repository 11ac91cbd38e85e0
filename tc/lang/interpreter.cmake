set(TC_LANG_INTERPRETER_SOURCES
  interpreter.cpp
  interpreter_access.cpp
  interpreter_expr.cpp
  interpreter_numeric.cpp
  interpreter_statement.cpp
)
