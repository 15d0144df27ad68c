import { type ComponentChild, h } from 'preact';
import { useLoaded } from '../../../ui/use-loaded.ts';
import { runJob } from '../worker/run-job.ts';
import './highlighter.css';

type Lines = readonly (readonly ComponentChild[])[];

/**
 * The coloured lines of a text, once they are there. Undefined until then, where there is no grammar, and where it fails
 * or takes too long: the text can be read without.
 */
export function useHighlighted(text: string, grammar: string | undefined): Lines | undefined {
  const loaded = useLoaded(
    async (signal) => {
      if (grammar === undefined || grammar === '') return undefined;
      const lines = await runJob({ kind: 'colours', text, grammar }, signal);
      return lines?.map((line) =>
        line.map(([className, part]) => (className === '' ? part : h('span', { class: className }, part))),
      );
    },
    [text, grammar],
  );
  return loaded.state === 'ready' ? loaded.value : undefined;
}
