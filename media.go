package toolresult

// Results that are more than text. In an archive each picture or file is a file of its own, in its own bytes, and the text names
// them where they stood.

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolresult/toolresult/internal/runes"
)

// maxMediaNamed is how many media a placeholder tells of one by one.
const maxMediaNamed = 4

// medium is a part of a result that is no text.
type medium struct {
	kind string // its MIME type; where it has none, what sort of part it is
	data string // its bytes; empty where it is only referred to
	url  string // where it is, if there are no bytes
	nth  int    // among the media of its result, from 1
}

// path makes the name of a medium of that of its result, and cuts a long one short, as all names are.
func (m medium) path(own string) string {
	suffix := fmt.Sprintf(".%d%s", m.nth, extension(m.kind))
	folder, name := path.Split(own)
	return folder + name[:runes.Floor(name, maxSegment-len(suffix))] + suffix
}

// describe says what a medium is, in no language.
func (m medium) describe() string {
	if m.data == "" {
		return m.kind
	}
	return fmt.Sprintf("%s, %d bytes", m.kind, len(m.data))
}

// archivedText is a result as it is archived: its text, exactly, where it is nothing else; in place of a medium stands what it is
// and where, which store tells.
func archivedText(msg *schema.Message, store func(m medium) (path string)) string {
	parts := resultParts(msg)
	if len(parts) == 0 {
		return msg.Content
	}
	t := partsText{apart: true}
	t.add(msg.Content, false)
	nth := 0
	for i := range parts {
		if text, ok := partText(&parts[i]); ok {
			t.add(text, false)
		}
		if hasMedium(&parts[i]) {
			nth++
			t.add(placed(mediumOf(&parts[i], nth), store), true)
		}
	}
	return t.String()
}

// partsText is a text of parts. Neighbouring texts are one that came in pieces; everything else stands on a line of its own.
type partsText struct {
	strings.Builder
	apart bool // what came last was no text
}

func (t *partsText) add(text string, apart bool) {
	if text == "" {
		return
	}
	if t.Len() > 0 && (apart || t.apart) {
		t.WriteByte('\n')
	}
	t.WriteString(text)
	t.apart = apart
}

// placed is the line for a medium.
func placed(m medium, store func(m medium) string) string {
	at := m.url
	if m.data != "" {
		at = store(m)
	}
	return "[" + m.describe() + ": " + at + "]"
}

func countMedia(msg *schema.Message) (n int) {
	for i := range msg.UserInputMultiContent {
		if hasMedium(&msg.UserInputMultiContent[i]) {
			n++
		}
	}
	return n
}

// describeMedia is what a placeholder says of the media of a result.
func describeMedia(msg *schema.Message) string {
	total := countMedia(msg)
	if total == 0 {
		return ""
	}
	var said []string
	for i := range msg.UserInputMultiContent {
		if part := &msg.UserInputMultiContent[i]; hasMedium(part) && len(said) < maxMediaNamed {
			said = append(said, mediumOf(part, len(said)+1).describe())
		}
	}
	if total > maxMediaNamed {
		said = append(said, fmt.Sprintf("+%d", total-maxMediaNamed))
	}
	return " (" + strings.Join(said, "; ") + ")"
}

// resultParts are the parts of a result in whichever field they are. What only models write, and the deprecated kind, come as
// texts of JSON, as there is nothing else to be made of them without loss.
func resultParts(msg *schema.Message) []schema.MessageInputPart {
	if len(msg.AssistantGenMultiContent)+len(msg.MultiContent) == 0 {
		return msg.UserInputMultiContent
	}
	parts := append([]schema.MessageInputPart(nil), msg.UserInputMultiContent...)
	for i := range msg.AssistantGenMultiContent {
		part := &msg.AssistantGenMultiContent[i]
		parts = append(parts, jsonPart(part, part.Type == schema.ChatMessagePartTypeText, part.Text))
	}
	for i := range msg.MultiContent {
		part := &msg.MultiContent[i]
		parts = append(parts, jsonPart(part, part.Type == schema.ChatMessagePartTypeText, part.Text))
	}
	return parts
}

func jsonPart(part any, isText bool, text string) schema.MessageInputPart {
	if encoded, err := json.Marshal(part); !isText && err == nil {
		text = string(encoded)
	}
	return schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: text}
}

func hasMedium(part *schema.MessageInputPart) bool {
	return part.Image != nil || part.Audio != nil || part.Video != nil || part.File != nil
}

// partText is the text of a part. A part of a kind that nobody here knows is a text of JSON.
func partText(part *schema.MessageInputPart) (string, bool) {
	switch {
	case part.Type == schema.ChatMessagePartTypeText || part.Text != "":
		return part.Text, true
	case hasMedium(part):
		return "", false
	}
	return jsonPart(part, false, "").Text, true
}

func mediumOf(part *schema.MessageInputPart, nth int) medium {
	common := mediumPart(part)
	m := medium{kind: common.MIMEType, nth: nth}
	if common.Base64Data != nil && *common.Base64Data != "" {
		m.data = decoded(*common.Base64Data)
	} else if common.URL != nil {
		m.refer(*common.URL)
	}
	if m.kind == "" {
		m.kind = strings.TrimSuffix(string(part.Type), "_url")
	}
	m.kind = printableID(m.kind)
	return m
}

// refer takes the bytes out of a URL that holds them.
func (m *medium) refer(url string) {
	head, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	if !ok || !strings.HasPrefix(url, "data:") {
		m.url = url
		return
	}
	m.kind, m.data = nonEmpty(m.kind, head), decoded(data)
}

// decoded are the bytes of a text in base64, or the text itself where it is none: nothing is to be lost.
func decoded(text string) string {
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if data, err := encoding.DecodeString(text); err == nil {
			return string(data)
		}
	}
	return text
}

// extension is the end of a file name for a MIME type. The table of the system would differ from machine to machine.
func extension(mime string) string {
	mime, _, _ = strings.Cut(mime, ";")
	switch strings.TrimSpace(strings.ToLower(mime)) {
	case "image/png":
		return ".png"
	case "image/jpeg", "image/jpg":
		return ".jpg"
	case "image/gif":
		return ".gif"
	case "image/webp":
		return ".webp"
	case "image/svg+xml":
		return ".svg"
	case "audio/mpeg", "audio/mp3":
		return ".mp3"
	case "audio/wav", "audio/x-wav":
		return ".wav"
	case "video/mp4":
		return ".mp4"
	case "application/pdf":
		return ".pdf"
	}
	return ".bin"
}
