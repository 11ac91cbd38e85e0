set(TC_LANG_SYNTAX_SOURCES
  builtins.cpp
)
