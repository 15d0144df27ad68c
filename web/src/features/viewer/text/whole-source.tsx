import { useMemo } from 'preact/hooks';
import type { ViewerState } from '../viewer-tools.ts';
import { grammarOf } from './highlight.ts';
import { Source, useWrapTool } from './source.tsx';
import { blocksOf } from './text-blocks.ts';
import { useHighlighted } from './use-highlighted.ts';

interface WholeSourceProps {
  name: string;
  text: string;
  viewer: ViewerState;
}

/** A text that is there as a whole, coloured where its language is known. */
export function WholeSource({ name, text, viewer }: WholeSourceProps) {
  useWrapTool(viewer);
  return <ColouredSource {...{ name, text, viewer }} />;
}

/** The same without a tool of its own. */
export function ColouredSource({ name, text, viewer }: WholeSourceProps) {
  const coloured = useHighlighted(text, grammarOf(name, text));
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
