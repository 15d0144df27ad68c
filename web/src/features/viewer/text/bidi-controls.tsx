import type { ComponentChildren } from 'preact';
import { bidiPartsOf } from './bidi-parts.ts';
import './bidi-controls.css';

/**
 * Renders a text whose bidirectional control characters are visible as code points, and reorder nothing. Copied text
 * contains the characters themselves.
 */
export function showBidiControls(text: string): ComponentChildren {
  const parts = bidiPartsOf(text);
  if (parts.length === 1) return text;
  return parts.map(({ text: part, code }) =>
    code === undefined ? (
      part
    ) : (
      <span class="bidi-control" data-code={code}>
        {part}
      </span>
    ),
  );
}
