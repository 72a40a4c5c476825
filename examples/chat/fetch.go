package main

// The tool with the large results: whatever stands behind a URL.

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
)

const (
	fetchTimeout = time.Minute
	maxFetched   = 64 << 20 // bytes
)

type fetchArguments struct {
	URL string `json:"url" jsonschema:"description=an http or https URL,required"`
}

// newFetchTool makes fetch_url. What goes wrong is an answer, so that the model can try another URL.
func newFetchTool() (tool.InvokableTool, error) {
	client := &http.Client{Timeout: fetchTimeout}
	return utils.InferTool("fetch_url", "Fetches what is at a URL, as text.", func(ctx context.Context, args fetchArguments) (string, error) {
		text, err := fetch(ctx, client, args.URL)
		if err != nil && ctx.Err() == nil {
			return "It could not be fetched: " + err.Error(), nil
		}
		return text, err
	})
}

func fetch(ctx context.Context, client *http.Client, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("User-Agent", "toolresult-chat-example")
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxFetched+1))
	if err == nil && len(body) > maxFetched {
		err = fmt.Errorf("it is larger than %d bytes", maxFetched)
	}
	return string(body), err
}
