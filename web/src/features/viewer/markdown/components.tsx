import type { Components } from 'hast-util-to-jsx-runtime';
import { parentOf } from '../../../platform/paths.ts';
import type { FileEntry } from '../../../platform/service/service.ts';
import type { Text } from '../../../platform/text/language.ts';
import { Icon } from '../../../ui/icon.tsx';
import { MarkdownImage } from './markdown-image.tsx';
import { MarkdownLink } from './markdown-link.tsx';

/** What draws the elements that are more than words, in a text of Markdown. */
export function componentsOf(entry: FileEntry, { previews }: Text): Partial<Components> {
  const folder = parentOf(entry.path);
  return {
    a: ({ href, id, 'aria-label': label, children }) => (
      <MarkdownLink {...{ folder, href, id, children }} label={typeof label === 'string' ? label : undefined} />
    ),
    img: ({ src, alt }) => <MarkdownImage {...{ folder, src, alt }} />,
    input: ({ checked }) => (
      <span class={`task ${checked ? 'done' : ''}`} role="img" aria-label={checked ? previews.done : previews.toDo}>
        {checked && <Icon name="check" />}
      </span>
    ),
  };
}
