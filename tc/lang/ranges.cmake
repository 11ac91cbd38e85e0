set(TC_LANG_RANGES_SOURCES
  affine.cpp
)
