import { readFileSync } from 'node:fs';
import { parseMarkdown, textOf } from '../../scripts/links/markdown.ts';

/* What the site takes from package.json and README.md, so that it is written once. */

/** A reason to use Holdall: a list item of README.md that starts with a bold phrase. */
interface Feature {
  readonly title: string;
  readonly details: string;
}

const manifest = JSON.parse(read('package.json')) as {
  version: string;
  description: string;
  repository: { url: string };
};

export const version = manifest.version;
export const description = manifest.description;

/** The address of the repository, without a slash at the end. */
export const repository = manifest.repository.url.replace(/^git\+|\.git$/g, '');

/** The logo, as a URL that needs no file. */
export const logo = `data:image/svg+xml,${encodeURIComponent(read('web/src/ui/mark.svg'))}`;

/** Returns the first list of README.md whose items start with a bold phrase. Throws if it has none. */
export function readFeatures(): Feature[] {
  for (const node of parseMarkdown(read('README.md')).children) {
    if (node.type !== 'list') continue;
    const features = node.children.flatMap((item) => {
      const [paragraph] = item.children;
      if (paragraph?.type !== 'paragraph' || paragraph.children[0]?.type !== 'strong') return [];
      const title = textOf(paragraph.children[0]);
      const details = textOf(paragraph).slice(title.length).replace(/\s+/g, ' ').trim();
      return [{ title: title.replace(/\.$/, ''), details }];
    });
    if (features.length > 0 && features.length === node.children.length) return features;
  }
  throw new Error('README.md has no list of reasons that start with a bold phrase.');
}

function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}
