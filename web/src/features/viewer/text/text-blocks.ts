import type { ComponentChildren } from 'preact';

/** Consecutive lines that are rendered together, and skipped while they are far from the visible part. */
export interface TextBlock {
  /** The number of the first line, from 1. */
  readonly firstLine: number;
  /** The lines without line breaks. */
  readonly lines: readonly ComponentChildren[];
}

const BLOCK_LINES = 200;

/** Splits a text into blocks. Returns the text after the last line break separately, because the line can continue. */
export function blocksOf(text: string, firstLine: number): { blocks: readonly TextBlock[]; rest: string } {
  const lines = text.split(/\r\n|\n|\r(?=.)/s);
  const rest = lines.pop() ?? '';
  const blocks: TextBlock[] = [];
  for (let at = 0; at < lines.length; at += BLOCK_LINES) {
    blocks.push({ firstLine: firstLine + at, lines: lines.slice(at, at + BLOCK_LINES) });
  }
  return { blocks, rest };
}
