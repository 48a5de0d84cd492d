
# Names in files: of tensors, and of methods of programs.
functions -c _sconce _sconce_words
_sconce() {
    local -a names
    names=("${(@f)$(sconce completions --names "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    names=("${(@)names:#}")
    (( $#names )) && compadd -a names
    _sconce_words "$@"
}
