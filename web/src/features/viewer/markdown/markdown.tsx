import type { Root } from 'hast';
import { toJsxRuntime } from 'hast-util-to-jsx-runtime';
import { useMemo } from 'preact/hooks';
import { Fragment, jsx, jsxs } from 'preact/jsx-runtime';
import type { FileEntry } from '../../../platform/service/service.ts';
import { useFullLanguage } from '../../../platform/text/language-context.ts';
import { componentsOf } from './components.tsx';
import '../text/highlighter.css';
import './markdown.css';

/** A text of Markdown. Its HTML is left out, and what is left is drawn by the page's own components. */
export function Markdown({ entry, tree }: { entry: FileEntry; tree: Root }) {
  const { text } = useFullLanguage();
  const drawn = useMemo(
    () =>
      toJsxRuntime(tree, {
        Fragment,
        jsx,
        jsxs,
        elementAttributeNameCase: 'html',
        // Else the alignment of cells would become `style`.
        tableCellAlignToStyle: false,
        components: componentsOf(entry, text),
      }),
    [tree, entry, text],
  );
  return (
    <div
      class="markdown-scroller"
      role="region"
      aria-label={text.previews.contentsOf({ name: entry.name })}
      tabIndex={0}
      data-scroller
    >
      <article class="markdown" dir="auto">
        {drawn}
      </article>
    </div>
  );
}
