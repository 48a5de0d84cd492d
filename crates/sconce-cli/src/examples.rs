//! The examples that a verb's help and manual page end with.

use clap::Command;

/// What to type, and what it is good for.
type Example = (&'static str, &'static str);

/// By verb; a verb of a verb has both names.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "ast",
        &[
            ("sconce ast model.py", "the tree of a file"),
            ("sconce ast model.py:forward", "of one function"),
        ],
    ),
    (
        "bench",
        &[
            ("sconce bench model.pt --shape 1x3x224x224", "how long a call takes"),
            (
                "sconce bench model.pt --shape 1x3x224x224 --explain",
                "which kernel each operation took",
            ),
        ],
    ),
    (
        "code",
        &[
            ("sconce code program.pt", "the source of forward and of what it calls"),
            ("sconce code program.pt encoder.forward", "of one method"),
        ],
    ),
    (
        "compare",
        &[
            (
                "sconce compare program.pt -i x.npy --expect y.pt",
                "the result beside what PyTorch gave",
            ),
            (
                "sconce compare program.pt encoder.forward -i x.npy --expect y.pt --tol 1e-3",
                "of one method, less strictly",
            ),
        ],
    ),
    (
        "completions",
        &[
            (
                "sconce completions bash > ~/.local/share/bash-completion/completions/sconce",
                "for one user of bash",
            ),
            ("sconce completions fish > ~/.config/fish/completions/sconce.fish", "of fish"),
        ],
    ),
    (
        "convert",
        &[
            ("sconce convert model.pt model.safetensors", "every tensor, by its dotted name"),
            (
                "sconce convert train.ckpt weights.safetensors --take state_dict --dtype bf16",
                "only the model, narrower",
            ),
            ("sconce convert gpu.pt cpu.pt --map-location cpu", "for machines without a GPU"),
        ],
    ),
    (
        "diff",
        &[
            ("sconce diff before.pt after.pt", "what changed, the most first"),
            (
                "sconce diff --ignore-prefix module ddp.pt plain.pt",
                "names with and without 'module.' are one",
            ),
            (
                "sconce diff --atol 1e-3 f32.pt bf16.safetensors",
                "what rounding explains is no difference",
            ),
            ("sconce diff --rename --stat a.pt b.pt", "find tensors that only have another name"),
        ],
    ),
    (
        "dis",
        &[
            ("sconce dis model.pt", "every opcode, as pickletools prints them"),
            ("sconce dis model.pt --record data.pkl", "of one record"),
        ],
    ),
    (
        "extract",
        &[
            ("sconce extract --list model.pt", "the records of an archive"),
            ("sconce extract model.pt --entry 'code/*' -C out", "write some of them"),
        ],
    ),
    (
        "globals",
        &[
            ("sconce globals model.pt", "every class and function that the file names"),
            ("sconce globals --python model.pt", "the line of Python that allows them"),
        ],
    ),
    (
        "graph",
        &[
            ("sconce graph program.pt", "forward as PyTorch's graph"),
            ("sconce graph program.pt --svg > forward.svg", "as a picture"),
        ],
    ),
    (
        "identify",
        &[
            ("sconce identify *", "what files are, by their content"),
            ("sconce identify -r .", "of a whole folder"),
        ],
    ),
    (
        "info",
        &[
            ("sconce model.pt", "the card of a file"),
            ("sconce info -r models", "of every file in a folder"),
        ],
    ),
    (
        "ls",
        &[
            ("sconce ls model.pt", "every tensor"),
            ("sconce ls model.pt --sort size --top 10", "the largest ones"),
            ("sconce ls model.pt --include '*.weight' --csv", "some of them, for a spreadsheet"),
        ],
    ),
    (
        "hub cache",
        &[
            ("sconce hub cache", "what lies in the cache, and how large it is"),
            ("sconce hub cache --clear partial", "remove downloads that broke off"),
        ],
    ),
    (
        "hub dir",
        &[
            ("sconce hub dir", "the folder that PyTorch uses, too"),
            ("sconce hub dir --set /data/hub", "use another one from now on"),
        ],
    ),
    (
        "hub download",
        &[
            (
                "sconce hub download https://example.com/model-1a2b3c4d.pth --check-hash",
                "into the cache",
            ),
            ("sconce hub download hf://owner/name/model.safetensors -o .", "into this folder"),
        ],
    ),
    (
        "hub fetch",
        &[
            ("sconce hub fetch pytorch/vision:v0.20.1", "a tag of a repository"),
            ("sconce hub fetch pytorch/vision --force-reload", "its main branch, anew"),
        ],
    ),
    (
        "hub help",
        &[
            ("sconce hub help pytorch/vision resnet18", "what an entry takes and gives"),
            ("sconce hub help . net", "of a folder here"),
        ],
    ),
    (
        "hub list",
        &[
            ("sconce hub list pytorch/vision", "what torch.hub.list gives"),
            ("sconce hub list ./repository --own", "without what is only imported there"),
        ],
    ),
    (
        "hub load",
        &[
            (
                "sconce hub load pytorch/vision resnet18 pretrained=True -o resnet18.pth",
                "the state dict",
            ),
            ("sconce hub load . net num_classes=10 -o net.pt", "a TorchScript archive"),
        ],
    ),
    (
        "hub trust",
        &[
            ("sconce hub trust", "repositories that PyTorch asks no more about"),
            ("sconce hub trust owner/name", "one more"),
        ],
    ),
    (
        "man",
        &[
            ("sconce man --dir ~/.local/share/man/man1", "a page for each verb"),
            ("sconce man > sconce.1", "the first page"),
        ],
    ),
    (
        "merge",
        &[
            ("sconce merge a.pt b.pt -o whole.pt", "one state dict of several"),
            (
                "sconce merge pytorch_model.bin.index.json -o whole.pt",
                "of the files that an index names",
            ),
        ],
    ),
    (
        "ops",
        &[
            ("sconce ops program.pt", "what a program calls, and what cannot run"),
            ("sconce ops program.pt encoder.forward", "of one method"),
        ],
    ),
    (
        "resave",
        &[
            ("sconce resave old.pt new.pt", "in the layout of today"),
            (
                "sconce resave program.pt new.pt --extra notes.txt=notes.txt",
                "with a file beside the program",
            ),
        ],
    ),
    (
        "run",
        &[
            ("sconce run program.pt -i 'zeros(1, 3, 224, 224)'", "forward on made-up numbers"),
            (
                "sconce run program.pt -i cat.jpg --resize 224x224 --top 5 --labels names.txt",
                "on a picture",
            ),
            ("sconce run program.pt2 --inputs args.pt -o result.pt", "on what torch.save wrote"),
        ],
    ),
    (
        "script",
        &[
            (
                "sconce script 'model.py:Net(10)' -o net.pt",
                "as torch.jit.script(Net(10)).save('net.pt')",
            ),
            (
                "sconce script model.py:Net --state weights.pt --eval -o net.pt",
                "with trained weights",
            ),
        ],
    ),
    (
        "shard",
        &[
            ("sconce shard model.pt -C out --max-size 2GB", "files of two gigabytes with an index"),
            (
                "sconce shard train.ckpt -C out --take state_dict --dry-run",
                "which files the model of a training checkpoint would be",
            ),
        ],
    ),
    (
        "show",
        &[
            ("sconce show model.pt fc.weight", "the numbers of a tensor"),
            ("sconce show model.pt 'fc.weight[:2,:5]' --stats", "of a part of it, with statistics"),
            ("sconce show train.ckpt hyper_parameters.lr", "any value"),
        ],
    ),
    (
        "stat",
        &[
            (
                "sconce stat model.pt --anomalies",
                "tensors with NaN, infinities or nothing but zeros",
            ),
            (
                "sconce stat model.pt --fail-on nan,inf",
                "for scripts: exit code 1 when there are any",
            ),
        ],
    ),
    (
        "trace",
        &[
            ("sconce trace model.pt", "every opcode, with stack and memo after it"),
            ("sconce trace model.pt --tensor fc.weight", "only what makes one tensor"),
            (
                "sconce trace model.pt --tensor fc.weight --html t.html",
                "step through it in a browser",
            ),
        ],
    ),
    (
        "tree",
        &[
            ("sconce tree model.pt", "modules with parameters and sizes"),
            ("sconce tree train.ckpt --all -L 2", "every value, two levels deep"),
        ],
    ),
    (
        "verify",
        &[
            ("sconce verify model.pt", "whether the file is whole: every checksum, every view"),
            ("sconce verify -r models", "of every file in a folder"),
        ],
    ),
];

/// The command line with the examples at the end of each verb's help.
pub fn add(mut command: Command) -> Command {
    for (verb, examples) in EXAMPLES {
        command = add_to(command, verb, examples);
    }
    command
}

/// A command with examples for a verb of its own, or of one of its verbs. Verbs of features may be missing.
fn add_to(command: Command, verb: &str, examples: &[Example]) -> Command {
    let (first, rest) = verb.split_once(' ').unwrap_or((verb, ""));
    if command.find_subcommand(first).is_none() {
        return command;
    }
    command.mut_subcommand(first, |command| {
        if !rest.is_empty() {
            return add_to(command, rest, examples);
        }
        let before = command.get_after_help().map(ToString::to_string);
        command.after_help(text(before, examples))
    })
}

/// Examples in two columns, below what else the help says.
fn text(before: Option<String>, examples: &[Example]) -> String {
    let widest = examples.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    let mut out = before.map(|text| format!("{text}\n\n")).unwrap_or_default();
    out.push_str("Examples:");
    for (line, purpose) in examples {
        let blank = " ".repeat(widest - line.chars().count());
        // What would not fit a line of 100 columns stands below.
        match widest + purpose.chars().count() > 94 {
            true => out.push_str(&format!("\n  {line}\n      {purpose}")),
            false => out.push_str(&format!("\n  {line}{blank}  {purpose}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// The words of a line, as a shell splits them.
    fn words(line: &str) -> Vec<String> {
        let mut out = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => out.push(String::new()),
                c => out.last_mut().expect("a word").push(c),
            }
        }
        out
    }

    #[test]
    fn every_verb_has_examples_that_parse() {
        let command = add(Cli::command());
        let mut verbs: Vec<_> = command.get_subcommands().collect();
        while let Some(verb) = verbs.pop() {
            let below = verb.get_subcommands();
            if verb.has_subcommands() {
                verbs.extend(below);
                continue;
            }
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = help.split("Examples:").nth(1).unwrap_or_default();
            let count = examples.matches("\n  sconce").count();
            assert!(count >= 2, "{} has {count} examples", verb.get_name());
        }
        for (line, _) in EXAMPLES.iter().flat_map(|(_, examples)| *examples) {
            // What stands behind > is the shell's.
            let line = line.split(" > ").next().unwrap_or_default();
            let mut words = words(line);
            if words.get(1).is_some_and(|word| word.contains('.')) {
                words.insert(1, "info".to_owned());
            }
            if words.last().is_some_and(|word| word == "--help") {
                continue;
            }
            let parsed = Cli::command().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }
}
