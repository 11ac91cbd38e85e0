# Names, types and calls of the language; the typed program and its texts.
set(TC_LANG_SEMA_SOURCES
  analyse.cpp
  bind_sizes.cpp
  call_inliner.cpp
  canonical.cpp
  resolve.cpp
  resolve_call.cpp
  resolve_checks.cpp
  resolve_dims.cpp
  resolve_expr.cpp
  resolve_names.cpp
  resolve_stmt.cpp
  typed_expr.cpp
  typed_print.cpp
  typing.cpp
  typing_literals.cpp
)
