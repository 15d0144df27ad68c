import type { ComponentChildren } from 'preact';

/** Lines of a text that are drawn together, and not at all while they are far from what is seen. */
export interface TextBlock {
  /** The number of its first line, from 1. */
  readonly firstLine: number;
  /** Without their ends. */
  readonly lines: readonly ComponentChildren[];
}

const LINES = 200;

/** The blocks of a text, and what comes after its last line end: the beginning of a line of which more may come. */
export function blocksOf(text: string, firstLine: number): { blocks: readonly TextBlock[]; rest: string } {
  const lines = text.split(/\r\n|\n|\r(?=.)/s);
  const rest = lines.pop() ?? '';
  const blocks: TextBlock[] = [];
  for (let at = 0; at < lines.length; at += LINES) {
    blocks.push({ firstLine: firstLine + at, lines: lines.slice(at, at + LINES) });
  }
  return { blocks, rest };
}
