fn main() {
    for file in std::env::args().skip(1) {
        let archive = sconce_export_program::Archive::open(&file).unwrap();
        let program = archive.program(archive.model(None).unwrap());
        let text = program.and_then(|p| p.text());
        let want = std::fs::read_to_string(file.replace(".pt2", ".txt")).unwrap();
        match text { Ok(t) if t == want => println!("ok {file}"), Ok(t) => { println!("DIFFER {file}"); std::fs::write("/tmp/got.txt", t).unwrap(); }, Err(e) => println!("ERR {file} {e}") }
    }
}
