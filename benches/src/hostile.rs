//! Pickles of about a kilobyte that try to cost far more than they weigh.

/// Name and bytes of each.
pub fn pickles() -> Vec<(&'static str, Vec<u8>)> {
    let end = |mut body: Vec<u8>| {
        body.push(b'.');
        body
    };
    let proto = |version: u8| vec![0x80, version];
    let mut out = Vec::new();

    // Each list holds the one before twice: 2^250 paths.
    let mut laughs = proto(2);
    laughs.extend(b"]q\0");
    for level in 0..170u8 {
        laughs.extend([b']', b'(', b'h', level, b'h', level, b'e', b'q', level + 1]);
    }
    out.push(("memo bomb, lists", end(laughs)));

    let mut tuples = proto(2);
    tuples.extend(b")q\0");
    for level in 0..200u8 {
        // The tuple before, then a pair of it with itself.
        tuples.extend([b'h', level, b'2', 0x86, b'q', level + 1]);
    }
    out.push(("memo bomb, tuples", end(tuples)));

    for (name, opcode, length) in [
        ("LONG4 of 2 GB", 0x8b_u8, 4),
        ("BINUNICODE of 4 GB", b'X', 4),
        ("BINBYTES8 of 2^63", 0x8e, 8),
        ("BYTEARRAY8 of 2^63", 0x96, 8),
        ("BINUNICODE8 of 2^63", 0x8d, 8),
        ("FRAME of 2^63", 0x95, 8),
    ] {
        let mut body = proto(5);
        body.push(opcode);
        body.extend(vec![0xff; length - 1]);
        body.push(0x7f);
        body.extend(vec![b'N'; 1000]);
        out.push((name, end(body)));
    }

    let mut puts = proto(2);
    puts.push(b'N');
    for at in 0..200u32 {
        puts.push(b'r');
        puts.extend((u32::MAX - at * 7_919_993).to_le_bytes());
    }
    out.push(("LONG_BINPUT far apart", end(puts)));

    let mut marks = proto(2);
    marks.extend(vec![b'('; 1020]);
    out.push(("1,000 marks", end(marks)));

    let mut dups = proto(2);
    dups.push(b']');
    dups.extend(vec![b'2'; 1000]);
    out.push(("1,000 DUPs", end(dups)));

    let mut nested = proto(2);
    nested.push(b'N');
    nested.extend(vec![0x85; 1000]);
    out.push(("1,000 nested tuples", end(nested)));

    let mut wide = proto(2);
    wide.extend(b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\n");
    wide.extend(b"X\x01\0\0\x000X\x03\0\0\0cpuJ\xff\xff\xff\x7ftQK\0");
    wide.extend(
        b"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86K\0K\0\x86\x89ccollections\nOrderedDict\n)RtR",
    );
    out.push(("a view of 2^62 elements", end(wide)));
    out
}

/// A million tuples, one inside the other: a megabyte, as a test of depth.
pub fn deep() -> Vec<u8> {
    let mut out = vec![0x80, 2, b'N'];
    out.extend(vec![0x85; 1_000_000]);
    out.push(b'.');
    out
}
