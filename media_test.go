package toolresult_test

// Results that are more than text: what they are charged, where each picture and file goes, and what the model is told of them.

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolresult/toolresult"
)

// mediaPart is a part of some kind with a medium in base64, or, where it is none, at a URL.
func mediaPart(kind schema.ChatMessagePartType, mime, data, url string) schema.MessageInputPart {
	common := schema.MessagePartCommon{MIMEType: mime}
	if data != "" {
		common.Base64Data = &data
	}
	if url != "" {
		common.URL = &url
	}
	part := schema.MessageInputPart{Type: kind}
	switch kind {
	case schema.ChatMessagePartTypeImageURL:
		part.Image = &schema.MessageInputImage{MessagePartCommon: common}
	case schema.ChatMessagePartTypeAudioURL:
		part.Audio = &schema.MessageInputAudio{MessagePartCommon: common}
	case schema.ChatMessagePartTypeVideoURL:
		part.Video = &schema.MessageInputVideo{MessagePartCommon: common}
	case schema.ChatMessagePartTypeFileURL:
		part.File = &schema.MessageInputFile{MessagePartCommon: common}
	}
	return part
}

func inputText(text string) schema.MessageInputPart {
	return schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: text}
}

// withParts is a conversation of which the first result has these parts.
func withParts(parts ...schema.MessageInputPart) []*schema.Message {
	messages := conversation("call(a:shot) result(a) call(b:shot) result(b)")
	messages[1].Content, messages[1].UserInputMultiContent = "", parts
	return messages
}

var inBase64 = base64.StdEncoding.EncodeToString

const (
	imageKind = schema.ChatMessagePartTypeImageURL
	audioKind = schema.ChatMessagePartTypeAudioURL
	videoKind = schema.ChatMessagePartTypeVideoURL
	fileKind  = schema.ChatMessagePartTypeFileURL
)

func TestMediaAreArchived(t *testing.T) {
	const at = "/large_tool_result/a"
	raw := "\x89PNG\x00\xff bytes"
	tests := []struct {
		reason string
		parts  []schema.MessageInputPart
		want   map[string]string
		told   string
	}{
		{"an image", []schema.MessageInputPart{mediaPart(imageKind, "image/png", inBase64([]byte(raw)), "")},
			map[string]string{at: "[image/png, 12 bytes: " + at + ".1.png]", at + ".1.png": raw}, " (image/png, 12 bytes)"},
		{"an image between texts", []schema.MessageInputPart{inputText("before"), mediaPart(imageKind, "image/jpeg", inBase64([]byte(raw)), ""), inputText("after"), inputText(" all")},
			map[string]string{at: "before\n[image/jpeg, 12 bytes: " + at + ".1.jpg]\nafter all", at + ".1.jpg": raw}, " (image/jpeg, 12 bytes)"},
		{"one of each kind", []schema.MessageInputPart{
			mediaPart(imageKind, "image/webp", inBase64([]byte("i")), ""), mediaPart(audioKind, "audio/wav", inBase64([]byte("a")), ""),
			mediaPart(videoKind, "video/mp4", inBase64([]byte("v")), ""), mediaPart(fileKind, "application/pdf", inBase64([]byte("f")), ""),
		}, map[string]string{
			at:             "[image/webp, 1 bytes: " + at + ".1.webp]\n[audio/wav, 1 bytes: " + at + ".2.wav]\n[video/mp4, 1 bytes: " + at + ".3.mp4]\n[application/pdf, 1 bytes: " + at + ".4.pdf]",
			at + ".1.webp": "i", at + ".2.wav": "a", at + ".3.mp4": "v", at + ".4.pdf": "f",
		}, " (image/webp, 1 bytes; audio/wav, 1 bytes; video/mp4, 1 bytes; application/pdf, 1 bytes)"},
		{"one image twice", []schema.MessageInputPart{mediaPart(imageKind, "image/gif", inBase64([]byte("x")), ""), mediaPart(imageKind, "image/gif", inBase64([]byte("x")), "")},
			map[string]string{at: "[image/gif, 1 bytes: " + at + ".1.gif]\n[image/gif, 1 bytes: " + at + ".2.gif]", at + ".1.gif": "x", at + ".2.gif": "x"}, " (image/gif, 1 bytes; image/gif, 1 bytes)"},
		{"a plain URL is kept as it is", []schema.MessageInputPart{mediaPart(imageKind, "", "", "https://example.com/x.png?a=1&b=2")},
			map[string]string{at: "[image: https://example.com/x.png?a=1&b=2]"}, " (image)"},
		{"a data URL is decoded", []schema.MessageInputPart{mediaPart(imageKind, "", "", "data:image/svg+xml;base64,"+inBase64([]byte("<svg/>")))},
			map[string]string{at: "[image/svg+xml, 6 bytes: " + at + ".1.svg]", at + ".1.svg": "<svg/>"}, " (image/svg+xml, 6 bytes)"},
		{"the type of the part comes before that of the URL", []schema.MessageInputPart{mediaPart(audioKind, "audio/mpeg", "", "data:audio/x;base64,"+inBase64([]byte("m")))},
			map[string]string{at: "[audio/mpeg, 1 bytes: " + at + ".1.mp3]", at + ".1.mp3": "m"}, " (audio/mpeg, 1 bytes)"},
		{"a data URL that is not base64 stays in the text", []schema.MessageInputPart{mediaPart(imageKind, "", "", "data:text/plain,hello")},
			map[string]string{at: "[image: data:text/plain,hello]"}, " (image)"},
		{"no base64: kept as it is", []schema.MessageInputPart{mediaPart(imageKind, "image/png", "not base64!", "")},
			map[string]string{at: "[image/png, 11 bytes: " + at + ".1.png]", at + ".1.png": "not base64!"}, " (image/png, 11 bytes)"},
		{"an unknown type", []schema.MessageInputPart{mediaPart(fileKind, "application/x-thing; q=1", inBase64([]byte("t")), "")},
			map[string]string{at: "[application/x-thing; q=1, 1 bytes: " + at + ".1.bin]", at + ".1.bin": "t"}, " (application/x-thing; q=1, 1 bytes)"},
		{"a type with parameters, in capitals", []schema.MessageInputPart{mediaPart(imageKind, "Image/PNG; charset=x", inBase64([]byte("t")), "")},
			map[string]string{at: "[Image/PNG; charset=x, 1 bytes: " + at + ".1.png]", at + ".1.png": "t"}, " (Image/PNG; charset=x, 1 bytes)"},
		{"no type at all", []schema.MessageInputPart{mediaPart(fileKind, "", inBase64([]byte("t")), "")},
			map[string]string{at: "[file, 1 bytes: " + at + ".1.bin]", at + ".1.bin": "t"}, " (file, 1 bytes)"},
		{"a type that is no name", []schema.MessageInputPart{mediaPart(imageKind, "a\nb\x00", inBase64([]byte("t")), "")},
			map[string]string{at: `[a\nb\x00, 1 bytes: ` + at + ".1.bin]", at + ".1.bin": "t"}, ` (a\nb\x00, 1 bytes)`},
		{"nothing in it", []schema.MessageInputPart{mediaPart(imageKind, "", "", "")}, map[string]string{at: "[image: ]"}, " (image)"},
		{"texts alone", []schema.MessageInputPart{inputText(strings.Repeat("one ", 300)), inputText("two")}, map[string]string{at: strings.Repeat("one ", 300) + "two"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			backend, messages := newMemory(), withParts(tt.parts...)
			c := archived(t, toolresult.PruneConfig{Archive: backend}, messages)
			require.Len(t, c.Pruned, 1)
			assert.Equal(t, tt.want, backend.stored())
			assert.Equal(t, "[Tool result removed. Read it with `read_file`: "+at+"]"+tt.told, c.Messages[1].Content)
			assert.Empty(t, c.Messages[1].UserInputMultiContent)
			requireReadBack(t, backend, c.Messages[1], tt.want[at])

			written := backend.written()
			archived(t, toolresult.PruneConfig{Archive: backend}, throughJSON(t, messages))
			archived(t, toolresult.PruneConfig{Archive: backend}, throughJSON(t, c.Messages))
			assert.Equal(t, written, backend.written(), "nothing is stored twice")
		})
	}
}

// Media are charged, whatever their bytes, and pruned by that charge.
func TestMediaAreCountedByTheirCharge(t *testing.T) {
	tests := []struct {
		part   schema.MessageInputPart
		charge int64
		reason string
	}{
		{mediaPart(imageKind, "image/png", "eA==", ""), 1600, "a tiny image"},
		{mediaPart(imageKind, "image/png", strings.Repeat("eHh4", 100_000), ""), 1600, "a huge one"},
		{mediaPart(imageKind, "", "", "https://example.com"), 1600, "one elsewhere"},
		{mediaPart(audioKind, "audio/wav", "eA==", ""), 2000, "audio"},
		{mediaPart(videoKind, "video/mp4", "eA==", ""), 2000, "a video"},
		{mediaPart(fileKind, "application/pdf", "eA==", ""), 2000, "a file"},
	}
	for _, tt := range tests {
		for _, archive := range []toolresult.Backend{nil, newMemory()} {
			c := archived(t, toolresult.PruneConfig{Archive: archive}, withParts(tt.part))
			require.Len(t, c.Pruned, 1, tt.reason)
			assert.Equal(t, tt.charge, c.Pruned[0].TokensBefore, tt.reason)
			assert.Less(t, c.Pruned[0].TokensAfter, int64(40), tt.reason)
		}
	}
	free, err := toolresult.NewTokenCounter(t.Context(), &toolresult.TokenCounterConfig{TokensPerImage: -1})
	require.NoError(t, err)
	c := compact(t, newPruner(t, nil), &toolresult.CompactRequest{Messages: withParts(tests[0].part), Counter: free})
	assert.False(t, c.Changed, "what is free is not worth a placeholder")
}

func TestManyMedia(t *testing.T) {
	backend := newMemory()
	var parts []schema.MessageInputPart
	for i := range 20 {
		parts = append(parts, mediaPart(imageKind, "image/png", inBase64([]byte{byte(i)}), ""))
	}
	c := archived(t, toolresult.PruneConfig{Archive: backend}, withParts(parts...))
	assert.True(t, strings.HasSuffix(c.Messages[1].Content, " (image/png, 1 bytes; image/png, 1 bytes; image/png, 1 bytes; image/png, 1 bytes; +16)"), c.Messages[1].Content)
	assert.Len(t, backend.stored(), 21)
	for i := range 20 {
		assert.Equal(t, string(rune(i)), backend.stored()[fmt.Sprintf("/large_tool_result/a.%d.png", i+1)])
	}
}

// The same result again shares its files; another with the same ID gets others.
func TestMediaOfTakenPaths(t *testing.T) {
	backend := newMemory()
	one, two := withParts(mediaPart(imageKind, "image/png", inBase64([]byte("one")), "")), withParts(mediaPart(imageKind, "image/png", inBase64([]byte("two")), ""))
	archived(t, toolresult.PruneConfig{Archive: backend}, one)
	c := archived(t, toolresult.PruneConfig{Archive: backend}, two)
	archived(t, toolresult.PruneConfig{Archive: backend}, two)
	assert.Len(t, backend.stored(), 4)
	path, _ := toolresult.OffloadedPath(c.Messages[1])
	_, at, _ := strings.Cut(strings.TrimSuffix(readBack(t, backend, path), "]"), ": ")
	assert.Equal(t, "two", readBack(t, backend, at), "the text names the file that has it")
}

// An image that cannot be stored keeps its result where it is.
func TestMediaThatCannotBeArchived(t *testing.T) {
	backend := newMemory()
	messages := withParts(inputText(sizedText(0, "500", 0)), mediaPart(imageKind, "image/png", "eA==", ""), mediaPart(imageKind, "image/png", "eQ==", ""))
	for _, fails := range []string{"/a", "/a.1.png", "/a.2.png"} {
		c := archived(t, toolresult.PruneConfig{Archive: failingAt(backend, fails)}, messages)
		assert.False(t, c.Changed, fails)
		assert.ErrorContains(t, c.Err, fmt.Sprintf("%q", "/large_tool_result"+fails))
	}
}

// What only models write, and the deprecated kind of parts, is archived as JSON, so that nothing is lost.
func TestOtherPartsAreArchivedAsJSON(t *testing.T) {
	messages := conversation("call(a:shot) result(a) call(b:shot) result(b)")
	//lint:ignore SA1019 old histories have it
	messages[1].MultiContent = []schema.ChatMessagePart{
		{Type: schema.ChatMessagePartTypeText, Text: strings.Repeat("text ", 300)},
		//lint:ignore SA1019 old histories have it
		{Type: imageKind, ImageURL: &schema.ChatMessageImageURL{URL: "https://example.com/x.png"}},
	}
	messages[1].AssistantGenMultiContent = []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: "by a model"}}
	messages[1].Content = ""
	backend := newMemory()
	c := archived(t, toolresult.PruneConfig{Archive: backend}, messages)
	require.True(t, c.Changed)
	assert.Equal(t, []string{"/large_tool_result/a"}, slices.Collect(maps.Keys(backend.stored())))
	text := backend.stored()["/large_tool_result/a"]
	assert.Contains(t, text, strings.Repeat("text ", 300))
	assert.Contains(t, text, "by a model")
	at := strings.Index(text, "{")
	require.GreaterOrEqual(t, at, 0)
	//lint:ignore SA1019 old histories have it
	var part schema.ChatMessagePart
	require.NoError(t, json.Unmarshal([]byte(text[at:]), &part))
	assert.Equal(t, "https://example.com/x.png", part.ImageURL.URL)
}

// Without an archive the placeholder is that of any result.
func TestMediaWithoutArchive(t *testing.T) {
	c := archived(t, toolresult.PruneConfig{}, withParts(mediaPart(imageKind, "image/png", "eA==", "")))
	assert.Equal(t, "[Tool result removed to free up context. Call `shot` again if you need it.]", c.Messages[1].Content)
}

func TestMediaTexts(t *testing.T) {
	mkPlaceholders(t)
	for name, lang := range map[string]adk.Language{"media_english.txt": adk.LanguageEnglish, "media_chinese.txt": adk.LanguageChinese} {
		backend := newMemory()
		parts := []schema.MessageInputPart{inputText("The page, and what it says."), mediaPart(imageKind, "image/png", inBase64([]byte("pixels")), ""), mediaPart(fileKind, "", "", "https://example.com/a.pdf")}
		c := archived(t, toolresult.PruneConfig{Archive: backend, Language: lang}, withParts(parts...))
		golden(t, filepath.Join("placeholders", name), c.Messages[1].Content+"\n\n"+backend.stored()["/large_tool_result/a"]+"\n")
	}
}
