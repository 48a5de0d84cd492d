
# Names in files: of tensors, and of methods of programs.
function __sconce_names
    set -l words (commandline -opc) (commandline -ct)
    sconce completions --names $words[2..-1] 2>/dev/null
end
complete -c sconce -n "__fish_seen_subcommand_from show cat trace ls convert diff code graph ops run bench compare" -a "(__sconce_names)"
