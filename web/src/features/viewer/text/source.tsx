import { Component, type ComponentChild, type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Text } from '../../../platform/text/language.ts';
import { useLanguage } from '../../../platform/text/language-context.ts';
import { useLoaded } from '../../../ui/use-loaded.ts';
import { useTools, type ViewerState, type ViewerTool } from '../viewer-tools.ts';
import { runJob } from '../worker/run-job.ts';
import { grammarOf } from './highlight.ts';
import './source.css';
import './highlighter.css';

interface WholeSourceProps {
  name: string;
  text: string;
  viewer: ViewerState;
}

/** A text that is there as a whole, coloured where its language is known. */
export function WholeSource({ name, text, viewer }: WholeSourceProps) {
  useWrapTool(viewer);
  return <HighlightedSource {...{ name, text, viewer }} />;
}

/** The same without a tool of its own. */
export function HighlightedSource({ name, text, viewer }: WholeSourceProps) {
  const coloured = useHighlightedLines(text, grammarOf(name, text));
  const blocks = useMemo(() => {
    const { blocks: plain, rest } = blocksOf(text, 1);
    const last = plain.at(-1);
    const all =
      rest === '' ? plain : [...plain, { firstLine: last ? last.firstLine + last.lines.length : 1, lines: [rest] }];
    if (!coloured) return all;
    return all.map(({ firstLine, lines }) => ({
      firstLine,
      lines: coloured.slice(firstLine - 1, firstLine - 1 + lines.length),
    }));
  }, [text, coloured]);
  return <Source name={name} blocks={blocks} viewer={viewer} />;
}

interface SourceProps {
  /** The name of the file, by which the region is called. */
  name: string;
  blocks: readonly TextBlock[];
  viewer: ViewerState;
  /** What comes after the last line. */
  children?: ComponentChildren;
}

/** Lines of text with their numbers, wrapped or not. */
export function Source({ name, blocks, viewer, children }: SourceProps) {
  const { text } = useLanguage();
  const { isWrapped } = viewer;
  const last = blocks.at(-1);
  const digits = String(last ? last.firstLine + last.lines.length - 1 : 1).length;
  return (
    <div
      class={`source ${isWrapped.value ? 'wrapped' : ''}`}
      style={{ '--digits': `${Math.max(2, digits)}ch` }}
      role="region"
      aria-label={text.previews.contentsOf(name)}
      tabIndex={0}
      data-scroller
    >
      <div class="lines" dir="auto" translate={false}>
        {blocks.map((block) => (
          <Block key={block.firstLine} block={block} />
        ))}
      </div>
      {children}
    </div>
  );
}

/** Wraps lines, or has them run on beyond the edge. */
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
  const { text } = useLanguage();
  useTools(viewer, () => [wrapTool(viewer, text)], [viewer.isWrapped.value, text]);
}

/** Blocks never change: drawing them again, of a long text, would take a noticeable time. */
class Block extends Component<{ block: TextBlock }> {
  override shouldComponentUpdate({ block }: { block: TextBlock }): boolean {
    return block !== this.props.block;
  }

  override render({ block: { firstLine, lines } }: { block: TextBlock }) {
    return (
      <code class="block" style={{ '--first-line': firstLine - 1, '--lines': lines.length }}>
        {lines.map((line) => (
          <span class="line">{isEmpty(line) ? <br /> : line}</span>
        ))}
      </code>
    );
  }
}

/** An empty line takes the space of one by a line break alone, and has one too when it is copied. */
function isEmpty(line: ComponentChildren): boolean {
  return line === '' || (Array.isArray(line) && line.length === 0);
}

type Lines = readonly (readonly ComponentChild[])[];

/**
 * The coloured lines of a text, once they are there. Undefined until then, where there is no grammar, and where it fails
 * or takes too long: the text can be read without.
 */
function useHighlightedLines(text: string, grammar: string | undefined): Lines | undefined {
  const loaded = useLoaded(
    async (signal) => {
      if (grammar === undefined || grammar === '') return undefined;
      const lines = await runJob({ kind: 'highlight', text, grammar }, signal);
      return lines?.map((line) =>
        line.map(([className, part]) => (className === '' ? part : h('span', { class: className }, part))),
      );
    },
    [text, grammar],
  );
  return loaded.state === 'ready' ? loaded.value : undefined;
}

/** Lines of a text that are drawn together, and not at all while they are far from what is seen. */
export interface TextBlock {
  /** The number of its first line, from 1. */
  readonly firstLine: number;
  /** Without their ends. */
  readonly lines: readonly ComponentChildren[];
}

const BLOCK_LINES = 200;

/** The blocks of a text, and what comes after its last line end: the beginning of a line of which more may come. */
export function blocksOf(text: string, firstLine: number): { blocks: readonly TextBlock[]; rest: string } {
  const lines = text.split(/\r\n|\n|\r(?=.)/s);
  const rest = lines.pop() ?? '';
  const blocks: TextBlock[] = [];
  for (let at = 0; at < lines.length; at += BLOCK_LINES) {
    blocks.push({ firstLine: firstLine + at, lines: lines.slice(at, at + BLOCK_LINES) });
  }
  return { blocks, rest };
}
