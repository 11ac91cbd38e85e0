# Range inference, specialisation and the proofs; conversion to isl.
set(TC_LANG_RANGES_SOURCES
  affine.cpp
  ranges.cpp
  ranges_access.cpp
  ranges_form.cpp
  ranges_interval.cpp
  ranges_report.cpp
  ranges_rounds.cpp
  ranges_solve.cpp
  specialise.cpp
  specialise_boxes.cpp
  specialise_fold.cpp
)
