# Range inference, specialisation and the proofs; conversion to isl.
set(TC_LANG_RANGES_SOURCES
  affine.cpp
  ranges.cpp
  ranges_access.cpp
  ranges_form.cpp
  ranges_report.cpp
  ranges_rounds.cpp
  ranges_solve.cpp
)
