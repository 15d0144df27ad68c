import type { ComponentChildren } from 'preact';
import { useHighlighted } from '../text/use-highlighted.ts';

/** Code, in a line or of several lines, coloured where the text says what language it is in (`language-…`). */
export function CodeBlock({ language, children }: { language: string | undefined; children: ComponentChildren }) {
  const grammar = /^language-(?<name>\S+)$/.exec(language ?? '')?.groups?.['name'];
  if (grammar === undefined || typeof children !== 'string') return <code>{children}</code>;
  return <Coloured source={children} grammar={grammar.toLowerCase()} />;
}

function Coloured({ source, grammar }: { source: string; grammar: string }) {
  const lines = useHighlighted(source, grammar);
  return <code>{lines ? lines.flatMap((line, index) => (index === 0 ? line : ['\n', ...line])) : source}</code>;
}
