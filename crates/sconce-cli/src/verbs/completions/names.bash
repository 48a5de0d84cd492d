
# Names in files: of tensors, and of methods of programs.
_sconce_with_names() {
    _sconce "$@"
    local word="${COMP_WORDS[COMP_CWORD]}" name
    while IFS= read -r name; do
        COMPREPLY+=("$name")
    done < <(sconce completions --names "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$word" 2>/dev/null)
}
complete -F _sconce_with_names -o bashdefault -o default sconce
