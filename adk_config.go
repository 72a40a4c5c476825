package toolresult

// The parts of a handler must agree with one another: a notice that names another tool or another folder than the read tool
// has leads the model nowhere. So what two parts have in common is set in one of them, and a contradiction is refused.

import (
	"fmt"
	"reflect"
	"strings"
)

// HandlerConfig configures NewHandler.
//
// The path prefix, the language, the names of the tools and the Scope of reading may be set in any of the parts and are
// shared; two different values are refused. With a Scope and no PathGenerator of its own, Offload puts results where that Scope
// can read them, as SessionPath does. A TokenCounter is not shared: set it in Offload and in Compaction.
type HandlerConfig struct {
	// Backend stores the results and gives them back. Required; must also be a Reader.
	Backend Backend
	// ContextWindow is the model's window. Tokens. Required, above 0.
	ContextWindow int
	// Offload refines the offloading. Its Backend is filled in; its TokenLimit defaults to the smaller of 20 000 and an eighth
	// of the window. A path from its PathGenerator must lie below the prefix, where the tools can read it. Optional.
	Offload OffloadConfig
	// Compaction refines when to prune. Its ContextWindow is filled in, and it has no Offload of its own. Optional.
	Compaction CompactionConfig
	// Prune refines what to prune, where Compaction has no Compactor. Its Archive must be Backend, or nil: then what is pruned is
	// lost. Optional.
	Prune PruneConfig
	// Read refines the read tool. Its Backend is filled in; its MaxTokens defaults to the smaller of 5 000 and an eighth of the window, but
	// 100 at least. Optional.
	Read ReadConfig
	// Search refines the search tool, likewise. Optional.
	Search SearchConfig
}

// fillHandlerConfig returns a copy in which the parts agree.
func fillHandlerConfig(cfg *HandlerConfig) (*HandlerConfig, error) {
	c := *cfg
	if c.Compaction.Compactor != nil && !reflect.ValueOf(c.Prune).IsZero() {
		return nil, badConfig("HandlerConfig.Prune", "set", "none beside HandlerConfig.Compaction.Compactor, which prunes in its own way")
	}
	if c.Compaction.Offload != nil {
		return nil, badConfig("HandlerConfig.Compaction.Offload", "set", "none, as HandlerConfig.Offload is the offloader's config")
	}
	reader, ok := c.Backend.(Reader)
	if !ok {
		return nil, badConfig("HandlerConfig.Backend", fmt.Sprintf("%T", c.Backend), "a Backend that is a Reader too, as the tools read from it")
	}
	if c.ContextWindow <= 0 {
		return nil, badConfig("HandlerConfig.ContextWindow", c.ContextWindow, "the model's window in tokens, above 0")
	}
	if err := c.shareBackend(reader); err != nil {
		return nil, err
	}
	if err := c.shareNames(); err != nil {
		return nil, err
	}
	if c.Read.Scope == nil {
		c.Read.Scope = c.Search.Scope
	} else if c.Search.Scope == nil {
		c.Search.Scope = c.Read.Scope
	}
	if c.Read.Scope != nil && c.Offload.PathGenerator == nil {
		c.Offload.PathGenerator = SessionPath(c.Offload.PathPrefix, c.Read.Scope)
	}
	if c.Prune.PathGenerator == nil {
		c.Prune.PathGenerator = c.Offload.PathGenerator
	}
	for _, tokens := range []*int{&c.Read.MaxTokens, &c.Search.MaxTokens} {
		if *tokens == 0 {
			*tokens = max(min(defaultPageTokens, c.ContextWindow/8), minPageTokens)
		}
	}
	if c.Offload.TokenLimit == 0 {
		c.Offload.TokenLimit = max(min(defaultTokenLimit, c.ContextWindow/8), 1)
	}
	return &c, nil
}

func (c *HandlerConfig) shareBackend(reader Reader) error {
	return firstError(
		share(part("Backend", &c.Backend), part("Offload.Backend", &c.Offload.Backend)),
		share(part("Backend", &reader), part("Read.Backend", &c.Read.Backend), part("Search.Backend", &c.Search.Backend)),
		agree(part("Backend", &c.Backend), archivePart(&c.Prune.Archive)),
		share(part("ContextWindow", &c.ContextWindow), part("Compaction.ContextWindow", &c.Compaction.ContextWindow)),
	)
}

func (c *HandlerConfig) shareNames() error {
	return firstError(
		share(prefixPart("Offload", &c.Offload.PathPrefix), prefixPart("Read", &c.Read.PathPrefix), prefixPart("Search", &c.Search.PathPrefix),
			prefixPart("Prune", &c.Prune.PathPrefix)),
		share(part("Offload.Language", &c.Offload.Language), part("Compaction.Language", &c.Compaction.Language),
			part("Read.Language", &c.Read.Language), part("Search.Language", &c.Search.Language), part("Prune.Language", &c.Prune.Language)),
		share(part("Offload.ReadToolName", &c.Offload.ReadToolName), part("Read.ToolName", &c.Read.ToolName), part("Prune.ReadToolName", &c.Prune.ReadToolName)),
		share(part("Offload.SearchToolName", &c.Offload.SearchToolName), part("Search.ToolName", &c.Search.ToolName),
			part("Prune.SearchToolName", &c.Prune.SearchToolName)),
	)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// shared is a value that one of the parts has.
type shared[T any] struct {
	field string
	value *T
	equal func(a, b T) bool
}

func part[T any](field string, value *T) shared[T] {
	return shared[T]{"HandlerConfig." + field, value, isEqual[T]}
}

// prefixPart knows that a final slash makes no difference.
func prefixPart(config string, prefix *string) shared[string] {
	p := part(config+".PathPrefix", prefix)
	p.equal = func(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }
	return p
}

// archivePart has no default that would do for a backend that cannot be compared, so it looks into such.
func archivePart(archive *Backend) shared[Backend] {
	p := part("Prune.Archive", archive)
	p.equal = func(a, b Backend) bool {
		return isEqual(a, b) || !reflect.ValueOf(a).Comparable() && reflect.DeepEqual(a, b)
	}
	return p
}

// isEqual is false for backends that cannot be compared, where == would panic.
func isEqual[T any](a, b T) bool {
	return reflect.ValueOf(&a).Elem().Comparable() && reflect.ValueOf(&b).Elem().Comparable() && any(a) == any(b)
}

// share gives every part that has no value that of the first which has one, and refuses a different one.
func share[T any](parts ...shared[T]) error {
	if err := agree(parts...); err != nil {
		return err
	}
	for _, from := range parts {
		for _, p := range parts {
			if p.isZero() {
				*p.value = *from.value
			}
		}
	}
	return nil
}

// agree refuses two different values.
func agree[T any](parts ...shared[T]) error {
	var from *shared[T]
	for i := range parts {
		p := &parts[i]
		switch {
		case p.isZero():
		case from == nil:
			from = p
		case !p.equal(*p.value, *from.value):
			return badConfig(p.field, shown(*p.value), fmt.Sprintf("none, or %s as in %s", shown(*from.value), from.field))
		}
	}
	return nil
}

func (p shared[T]) isZero() bool { return reflect.ValueOf(p.value).Elem().IsZero() }

// shown is a value in an error. Of a backend only the type is told, as it may hold keys.
func shown(value any) string {
	switch value.(type) {
	case string:
		return fmt.Sprintf("%q", value)
	case Reader:
		return fmt.Sprintf("a %T", value)
	}
	return fmt.Sprint(value)
}
