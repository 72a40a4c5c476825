package machine

// Characters beyond ASCII are priced by script. The lead byte of a character of two bytes tells the script, so it pays; of
// three or four bytes, most often the second byte tells it, so the lead byte waits in a state of its own and the second
// byte pays. The bytes after that are free. Bytes that are not UTF-8 pass as whatever they look like.

func high(s State, b byte) Move {
	switch {
	case b < 0xc0:
		return continuation(s, b)
	case b < 0xe0:
		return twoByteLead(s, b)
	}
	return threeByteLead(s, b)
}

// twoByteLead has the ranges of Unicode's blocks. A script goes on where the character before was of it; an accented letter goes
// on any Latin word.
func twoByteLead(s State, b byte) Move {
	switch {
	case b <= 0xc3:
		return script(LatinBeyond, s.latin(), Latin1)
	case b == 0xc6:
		return script(LatinBeyond, s.latin(), Vietnamese)
	case b <= 0xcc:
		return script(LatinBeyond, s.latin(), LatinExtended)
	case b <= 0xcf:
		return script(GreekScript, s == GreekScript, Greek)
	case b <= 0xd3:
		return script(Cyrillics, s == Cyrillics, Cyrillic)
	}
	return script(TwoBytes, s == TwoBytes, middleEastern(b))
}

// middleEastern tells scripts by lead bytes, which is coarse: a few letters of Arabic and of Persian share one.
func middleEastern(b byte) Feature {
	switch {
	case b <= 0xd5:
		return Armenian
	case b <= 0xd7:
		return Hebrew
	}
	return pick(b == 0xda || b == 0xdb, Persian, Arabic)
}

// threeByteLead waits for the second byte where the lead byte is shared by scripts that cost differently. Han and Hangul fill
// whole lead bytes and pay at once.
func threeByteLead(s State, b byte) Move {
	switch {
	case b == 0xe0:
		return Move{Next: pick(s == ThreeBytes, LeadE0Same, LeadE0)}
	case b == 0xe1:
		return Move{Next: pick(s == ThreeBytes || s.latin(), LeadE1Same, LeadE1)}
	case b == 0xe2:
		return Move{Next: pick(s == BoxLines, LeadE2Same, LeadE2)}
	case b == 0xe3:
		return Move{Next: pick(s == KanaScript, LeadE3Same, LeadE3)}
	case b <= 0xe9:
		return script(HanScript, s == HanScript, Han)
	case b <= 0xed:
		return script(HangulScript, s == HangulScript, Hangul)
	case b <= 0xef:
		return Move{Next: LeadEF}
	}
	return Move{Next: LeadF0}
}

// continuation resolves the lead byte that waits. Where none does, the byte belongs to a character that has paid already.
func continuation(s State, b byte) Move {
	switch s {
	case LeadE0, LeadE0Same:
		return indic(s == LeadE0Same, b)
	case LeadE1, LeadE1Same:
		return southEastern(s == LeadE1Same, b)
	case LeadE2, LeadE2Same:
		return symbol(s == LeadE2Same, b)
	case LeadE3, LeadE3Same:
		return eastAsian(s == LeadE3Same, b)
	case LeadEF:
		return compatibility(b)
	case LeadF0:
		return Move{Next: FourBytes, Fires: [3]Feature{pick(b == 0x9f, Emoji, FourByteScript)}}
	}
	return Move{Next: s}
}

// indic reads the byte behind E0. Vocabularies know Devanagari and Thai much better than their neighbours.
func indic(same bool, b byte) Move {
	switch {
	case b <= 0xa5:
		return script(ThreeBytes, same, Devanagari)
	case b <= 0xb5:
		return script(ThreeBytes, same, Indic)
	case b == 0xb8 || b == 0xb9:
		return script(ThreeBytes, same, Thai)
	}
	return script(ThreeBytes, same, ThreeByteScript)
}

// southEastern reads the byte behind E1, which Georgian shares with scripts of South-East Asia and the accents of Vietnamese.
func southEastern(same bool, b byte) Move {
	switch {
	case 0xb8 <= b && b <= 0xbb:
		return script(LatinBeyond, same, Vietnamese)
	case b < 0x82:
		return script(ThreeBytes, same, Myanmar)
	case b <= 0x83:
		return script(ThreeBytes, same, Georgian)
	case b == 0x9e || b == 0x9f:
		return script(ThreeBytes, same, Khmer)
	}
	return script(ThreeBytes, same, ThreeByteScript)
}

// symbol reads the byte behind E2. Quotation marks and dashes are in every vocabulary; lines of boxes come in rows.
func symbol(same bool, b byte) Move {
	switch {
	case b == 0x80:
		return Move{Next: Symbols, Fires: [3]Feature{Typographic}}
	case 0x94 <= b && b <= 0x96:
		return script(BoxLines, same, BoxDrawing)
	}
	return Move{Next: Symbols, Fires: [3]Feature{Symbol}}
}

// eastAsian reads the byte behind E3. Han comes up here by its rare extension only, which continues nothing.
func eastAsian(same bool, b byte) Move {
	switch {
	case b == 0x80:
		return Move{Next: KanaScript, Fires: [3]Feature{CJKPunct}}
	case b <= 0x83:
		return script(KanaScript, same, Kana)
	}
	return script(HanScript, false, Han)
}

// compatibility reads the byte behind EE and EF: full-width forms, and U+FFFD, which stands where bytes were no text.
func compatibility(b byte) Move {
	switch b {
	case 0xbc, 0xbd:
		return Move{Next: KanaScript, Fires: [3]Feature{CJKPunct}}
	case 0xbf:
		return Move{Next: Symbols, Fires: [3]Feature{Replacement}}
	}
	return Move{Next: Symbols, Fires: [3]Feature{Symbol}}
}

// script moves to a state of a script. first is the feature of its first character; the one for the next follows it.
func script(next State, same bool, first Feature) Move {
	return Move{Next: next, Fires: [3]Feature{pick(same, first+1, first)}}
}
