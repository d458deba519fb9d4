# lj_embed_file(<target> <symbol> <file>): puts the bytes of a file into a
# target, for C code to declare as
#
#   extern const unsigned char <symbol>[];   /* a NUL follows the last byte */
#   extern const size_t <symbol>_size;       /* without that NUL */
#
# Both are hidden, 16-byte aligned, and dropped when nothing refers to them.
function(lj_embed_file target symbol file)
  get_filename_component(path ${file} ABSOLUTE)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [=[
/* Made by cmake/EmbedFile.cmake. */
__asm__(".pushsection .rodata.@symbol@,\"a\",%progbits\n"
        ".globl @symbol@, @symbol@_size\n"
        ".hidden @symbol@, @symbol@_size\n"
        ".type @symbol@, %object\n"
        ".type @symbol@_size, %object\n"
        ".balign 16\n"
        "@symbol@:\n"
        ".incbin \"@path@\"\n"
        "1: .byte 0\n"
        ".size @symbol@, . - @symbol@\n"
        ".balign 8\n"
        "@symbol@_size: .quad 1b - @symbol@\n"
        ".size @symbol@_size, 8\n"
        ".popsection\n");
]=])
  # The compiler's dependency file does not know what the assembler includes.
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${path})
  target_sources(${target} PRIVATE ${source})
endfunction()
