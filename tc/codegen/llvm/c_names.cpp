// SPDX-License-Identifier: Apache-2.0
#include "tc/codegen/llvm/c_names.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace tc::codegen::native {

namespace {

// Words in these tables stand between blanks.

constexpr std::string_view kKeywords =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
    "char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval "
    "constexpr constinit continue decltype default delete do double dynamic_cast else enum "
    "explicit export extern false float for friend goto if inline int long main mutable namespace "
    "new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert "
    "static_cast struct switch template this thread_local throw true try typedef typeid typename "
    "typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq "
    // Macros that compilers predefine in their default modes.
    "i386 linux unix ";

/// Functions of <math.h> and <complex.h>, each also with a trailing f and l.
constexpr std::string_view kMathFunctions =
    " acos acosh asin asinh atan atan2 atanh cabs cacos cacosh carg casin casinh catan catanh cbrt "
    "ccos ccosh ceil cexp cimag clog conj copysign cos cosh cpow cproj creal csin csinh csqrt ctan "
    "ctanh erf erfc exp exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb j0 "
    "j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint "
    "nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sincos sinh sqrt tan "
    "tanh tgamma trunc y0 y1 yn ";

/// The other functions and objects of the C library.
constexpr std::string_view kLibrary =
    " abort abs aligned_alloc asctime at_quick_exit atexit atof atoi atol atoll atomic_flag_clear "
    "atomic_flag_test_and_set atomic_signal_fence atomic_thread_fence bsearch btowc c16rtomb "
    "c32rtomb call_once calloc clearerr clock cnd_broadcast cnd_destroy cnd_init cnd_signal "
    "cnd_timedwait cnd_wait ctime difftime div errno exit fclose feclearexcept fegetenv "
    "fegetexceptflag fegetround feholdexcept feof feraiseexcept ferror fesetenv fesetexceptflag "
    "fesetround fetestexcept feupdateenv fflush fgetc fgetpos fgets fgetwc fgetws fopen fprintf "
    "fputc fputs fputwc fputws fread free freopen fscanf fseek fsetpos ftell fwide fwprintf fwrite "
    "fwscanf getc getchar getenv gets getwc getwchar gmtime imaxabs imaxdiv isalnum isalpha "
    "isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper iswalnum iswalpha "
    "iswblank iswcntrl iswctype iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper "
    "iswxdigit isxdigit labs ldiv llabs lldiv localeconv localtime longjmp malloc mblen mbrlen "
    "mbrtoc16 mbrtoc32 mbrtowc mbsinit mbsrtowcs mbstowcs mbtowc memchr memcmp memcpy memmove "
    "memset mktime mtx_destroy mtx_init mtx_lock mtx_timedlock mtx_trylock mtx_unlock perror "
    "printf putc putchar puts putwc putwchar qsort quick_exit raise rand realloc remove rename "
    "rewind scanf setbuf setjmp setlocale setvbuf signal signgam snprintf sprintf srand sscanf "
    "stderr stdin stdout strcat strchr strcmp strcoll strcpy strcspn strerror strftime strlen "
    "strncat strncmp strncpy strpbrk strrchr strspn strstr strtod strtof strtoimax strtok strtol "
    "strtold strtoll strtoul strtoull strtoumax strxfrm swprintf swscanf system thrd_create "
    "thrd_current thrd_detach thrd_equal thrd_exit thrd_join thrd_sleep thrd_yield time "
    "timespec_get tmpfile tmpnam tolower toupper towctrans towlower towupper tss_create tss_delete "
    "tss_get tss_set ungetc ungetwc va_end vfprintf vfscanf vfwprintf vfwscanf vprintf vscanf "
    "vsnprintf vsprintf vsscanf vswprintf vswscanf vwprintf vwscanf wcrtomb wcscat wcschr wcscmp "
    "wcscoll wcscpy wcscspn wcsftime wcslen wcsncat wcsncmp wcsncpy wcspbrk wcsrchr wcsrtombs "
    "wcsspn wcsstr wcstod wcstof wcstoimax wcstok wcstol wcstold wcstoll wcstombs wcstoul wcstoull "
    "wcstoumax wcsxfrm wctob wctomb wctrans wctype wmemchr wmemcmp wmemcpy wmemmove wmemset "
    "wprintf wscanf ";

bool has(std::string_view table, std::string_view word) {
  return table.find(" " + std::string(word) + " ") != std::string_view::npos;
}

bool starts_with_one_of(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
    return name.substr(0, prefix.size()) == prefix;
  });
}

/// Types and macros of <stdint.h>: int_least8_t, UINT64_MAX, INTMAX_C.
bool is_of_stdint(std::string_view name) {
  const auto ends_with = [&](std::string_view end) {
    return name.size() > end.size() && name.substr(name.size() - end.size()) == end;
  };
  if (ends_with("_t")) return starts_with_one_of(name, {"int", "uint"});
  return (ends_with("_MAX") || ends_with("_MIN") || ends_with("_C")) &&
         starts_with_one_of(name,
                            {"INT", "UINT", "PTRDIFF", "SIG_ATOMIC", "SIZE", "WCHAR", "WINT"});
}

bool is_of_library(std::string_view name) {
  if (has(kLibrary, name) || has(kMathFunctions, name)) return true;
  const bool suffixed = !name.empty() && (name.back() == 'f' || name.back() == 'l');
  return suffixed && has(kMathFunctions, name.substr(0, name.size() - 1));
}

}  // namespace

std::string c_identifier(const std::string& name) {
  std::string result;
  for (const char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result.front())))
    result = "_" + result;
  return has(kKeywords, result) || is_of_stdint(result) ? result + "_" : result;
}

std::string c_function(const std::string& name) {
  const std::string result = c_identifier(name);
  return is_of_library(result) ? result + "_" : result;
}

}  // namespace tc::codegen::native
