import type { ComponentChild } from 'preact';
import { useLoaded } from '../../controls/use-loaded.ts';

type Lines = readonly (readonly ComponentChild[])[];

/**
 * The coloured lines of a text, once they are there: what colours them is loaded when it is needed first. Undefined
 * until then, where there is no grammar, and where it can't be loaded: the text can be read without.
 */
export function useHighlighted(text: string, grammar: string | undefined): Lines | undefined {
  const loaded = useLoaded(async () => {
    if (grammar === undefined || grammar === '') return undefined;
    const { highlightLines } = await import('./highlighter.ts');
    return highlightLines(text, grammar);
  }, [text, grammar]);
  return loaded.state === 'ready' ? loaded.value : undefined;
}
