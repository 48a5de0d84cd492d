//! What the verbs print, as snapshots.

#[macro_use]
mod support;

looks! {
    bare_file: "2.15/zip/state_dict.pt";
    info_of_a_module: "info", "2.15/zip/module_net.pt";
    info_of_a_training_checkpoint: "info", "2.15/zip/lightning.ckpt";
    info_under_a_policy: "info", "--policy", "weights-only", "2.15/zip/module_net.pt";
    info_of_a_legacy_file: "2.15/legacy/shared.pt";
    info_of_safetensors: "hand/lookalike/tensors.safetensors";
    ls: "ls", "2.15/zip/state_dict.pt";
    ls_long: "ls", "-l", "2.15/zip/shared.pt";
    ls_sparse: "ls", "-l", "2.15/zip/sparse.pt";
    ls_sorted: "ls", "--sort", "size", "--reverse", "--top", "3", "--no-header", "2.15/zip/state_dict.pt";
    ls_csv: "ls", "--csv", "2.15/zip/shared.pt";
    ls_tsv_filtered: "ls", "--tsv", "--include", "*.weight", "--exclude", "body.*", "2.15/zip/module_net.pt";
    ls_exact_bytes: "ls", "--bytes", "2.15/zip/shared.pt";
    tree: "tree", "2.15/zip/module_net.pt";
    tree_of_a_training_checkpoint: "tree", "--all", "-L", "2", "2.15/zip/lightning.ckpt";
    show_values: "show", "2.15/zip/shared.pt", "grid";
    show_a_slice: "show", "2.15/zip/shared.pt", "grid[1:,::2]";
    show_statistics: "show", "2.15/zip/shared.pt", "whole", "--stats", "--hist=4", "--no-values";
    show_a_pattern: "show", "2.15/zip/shared.pt", "lone*";
    show_a_value: "show", "2.15/zip/lightning.ckpt", "hyper_parameters.lr";
    show_a_typo: "show", "2.15/zip/shared.pt", "gird";
    stat: "stat", "2.15/zip/state_dict.pt";
    stat_anomalies: "stat", "--anomalies", "2.15/zip/module_net.pt";
    diff_same_across_formats: "diff", "2.15/zip/shared.pt", "2.15/legacy/shared.pt";
    diff_with_safetensors: "diff", "2.15/zip/state_dict.pt", "hand/lookalike/tensors.safetensors";
    diff_values: "diff", "--values", "2.15/zip/state_dict.pt", "2.15/zip/module_net.pt";
    globals: "globals", "2.15/zip/module_tied.pt";
    globals_python: "globals", "--python", "2.15/zip/module_tied.pt";
    verify_sound: "verify", "2.15/zip/state_dict.pt";
    verify_damaged: "verify", "bad/zip_wrong_crc_data.pt";
    dis: "dis", "2.15/zip/single_tensor.pt";
    trace: "trace", "2.15/zip/single_tensor.pt", "--limit", "4", "--at", "0x27";
    trace_of_a_tensor: "trace", "2.15/zip/state_dict.pt", "--tensor", "body.2.bn.weight";
    extract_list: "extract", "--list", "2.15/zip/single_tensor.pt";
    convert_dry: "convert", "--dry-run", "--take", "state_dict", "2.15/zip/lightning.ckpt", "x.safetensors";
    convert_complex: "convert", "--dry-run", "2.15/zip/dtype_complex128.pt", "x.safetensors";
    edit_dry: "edit", "--dry-run", "2.15/zip/lightning.ckpt", "--set", "epoch=7", "--set", "hyper_parameters.lr=1e-3", "--drop", "optimizer_states", "--cast", "float16:*.weight", "--rename", "s/^state_dict\\.model\\.(\\w+)/state_dict.\\1/";
    edit_overflow: "edit", "--dry-run", "2.15/zip/dtype_float64.pt", "--cast", "float8_e4m3fn";
    edit_clash: "edit", "--dry-run", "2.15/zip/state_dict.pt", "--rename", "s/.*/x/";
    diff_renamed: "diff", "--rename", "--tensors-only", "2.15/zip/state_dict.pt", "2.15/zip/lightning.ckpt";
    help_of_edit: "edit", "-h";
    help_of_convert: "convert", "-h";
    identify: "identify", "2.15/zip/state_dict.pt", "hand/lookalike/lfs_pointer.pt", "nowhere.pt";
    error_missing_file: "ls", "nowhere.pt";
    error_truncated: "ls", "hand/lookalike/truncated.pt";
    error_lfs_pointer: "ls", "hand/lookalike/lfs_pointer.pt";
    error_typo_in_a_verb: "sta";
    error_typo_in_a_flag: "ls", "--jsno", "2.15/zip/state_dict.pt";
    help: "--help";
    help_of_ls: "ls", "-h";
}
