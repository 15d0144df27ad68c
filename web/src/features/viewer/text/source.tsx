import { Component, type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import { grammarOf, isProse } from '../../../platform/preview-kinds.ts';
import { type Text, useFullLanguage } from '../../../platform/text/language.ts';
import { useLoaded } from '../../../ui/loading.ts';
import { useTools, type ViewerState, type ViewerTool } from '../viewer-tools.ts';
import { runJob } from '../worker/run-job.ts';
import { showBidiControls } from './bidi-controls.tsx';
import { BidiLimit } from './bidi-parts.ts';
import { blocksOf, type TextBlock } from './read-text.ts';
import './source.css';

interface WholeSourceProps {
  name: string;
  text: string;
  viewer: ViewerState;
}

/** Renders a whole text, highlighted if its language is known. */
export function WholeSource({ name, text, viewer }: WholeSourceProps) {
  useWrapTool(viewer);
  return <HighlightedSource {...{ name, text, viewer }} />;
}

/** Renders the same without the tool for line wrapping. */
export function HighlightedSource({ name, text: source, viewer }: WholeSourceProps) {
  const text = useMemo(() => new BidiLimit().apply(source), [source]);
  const highlighted = useHighlightedLines(text, grammarOf(name, text));
  const blocks = useMemo(() => {
    const { blocks: plain, rest } = blocksOf(text, 1);
    const last = plain.at(-1);
    const all =
      rest === '' ? plain : [...plain, { firstLine: last ? last.firstLine + last.lines.length : 1, lines: [rest] }];
    if (!highlighted) return all;
    return all.map(({ firstLine, lines }) => ({
      firstLine,
      lines: highlighted.slice(firstLine - 1, firstLine - 1 + lines.length),
    }));
  }, [text, highlighted]);
  return <Source name={name} blocks={blocks} viewer={viewer} />;
}

interface SourceProps {
  /** The name of the file, for the label of the region. */
  name: string;
  blocks: readonly TextBlock[];
  viewer: ViewerState;
  /** Content after the last line. */
  children?: ComponentChildren;
}

/** Renders lines of text with line numbers. */
export function Source({ name, blocks, viewer, children }: SourceProps) {
  const { text } = useFullLanguage();
  const { isWrapped } = viewer;
  const last = blocks.at(-1);
  const digits = String(last ? last.firstLine + last.lines.length - 1 : 1).length;
  return (
    <div
      class={`source ${isWrapped.value ? 'wrapped' : ''}`}
      style={{ '--digits': `${Math.max(2, digits)}ch` }}
      role="region"
      aria-label={text.previews.contentsOf({ name })}
      tabIndex={0}
      dir={isProse(name) ? 'auto' : 'ltr'}
      data-scroller
    >
      <div class="lines" translate={false}>
        {blocks.map((block) => (
          <Block key={block.firstLine} block={block} />
        ))}
      </div>
      {children}
    </div>
  );
}

/** Returns the tool that switches line wrapping. */
export function wrapTool({ isWrapped }: ViewerState, { previews }: Text): ViewerTool {
  const pressed = isWrapped.value;
  return {
    id: 'wrap',
    button: { icon: 'wrap', label: previews.wrap, pressed },
    keys: ['w'],
    run: () => {
      isWrapped.value = !pressed;
    },
  };
}

export function useWrapTool(viewer: ViewerState): void {
  const { text } = useFullLanguage();
  useTools(viewer, () => [wrapTool(viewer, text)], [viewer.isWrapped.value, text]);
}

/** Renders a block. Blocks never change, and rendering those of a long text again would take noticeably long. */
class Block extends Component<{ block: TextBlock }> {
  override shouldComponentUpdate({ block }: { block: TextBlock }): boolean {
    return block !== this.props.block;
  }

  override render({ block: { firstLine, lines } }: { block: TextBlock }) {
    return (
      <code class="block" style={{ '--first-line': firstLine - 1, '--lines': lines.length }}>
        {lines.map((line) => (
          <span class="line">{isEmpty(line) ? <br /> : shown(line)}</span>
        ))}
      </code>
    );
  }
}

/** Returns whether a line is empty. An empty line needs a line break to have a height, and to be copied. */
function isEmpty(line: ComponentChildren): boolean {
  return line === '' || (Array.isArray(line) && line.length === 0);
}

/** Tokens of highlighted lines already show their control characters. */
function shown(line: ComponentChildren): ComponentChildren {
  return typeof line === 'string' ? showBidiControls(line) : line;
}

type Lines = readonly (readonly ComponentChildren[])[];

/**
 * Returns the highlighted lines of a text; undefined until they are ready, without a grammar, and if highlighting fails
 * or times out.
 */
function useHighlightedLines(text: string, grammar: string | undefined): Lines | undefined {
  const loaded = useLoaded(
    async (signal) => {
      if (grammar === undefined || grammar === '') return undefined;
      const lines = await runJob({ kind: 'highlight', text, grammar }, signal);
      return lines?.map((line) =>
        line.map(([className, part]) =>
          className === '' ? showBidiControls(part) : h('span', { class: className }, showBidiControls(part)),
        ),
      );
    },
    [text, grammar],
  );
  return loaded.state === 'ready' ? loaded.value : undefined;
}
