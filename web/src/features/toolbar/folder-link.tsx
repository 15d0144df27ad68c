import type { ComponentChildren } from 'preact';
import { isThere } from '../../model/folder/is-there.ts';
import { usePage } from '../page.ts';

interface FolderLinkProps {
  folder: string;
  children: ComponentChildren;
  class?: string;
}

/** A link to the page of a folder, which takes what is dropped on it. Leading to the folder that is shown, it reads it again. */
export function FolderLink({ folder, children, class: className = '' }: FolderLinkProps) {
  const page = usePage();
  const isShown = page.folder.path.value === folder;
  const isTarget = page.dragging.target.value === folder;
  return (
    <a
      class={isTarget ? `${className} drop-target` : className}
      href={page.urls.page(folder)}
      aria-current={isShown ? 'page' : undefined}
      data-drop-folder={isShown && !isThere(page.folder) ? undefined : folder}
      draggable={false}
      onClick={(event) => {
        // Anything else is the browser's: another tab, another window, a download.
        if (!isPlain(event)) return;
        event.preventDefault();
        if (isShown) void page.folder.refresh();
        else page.location.openFolder(folder);
      }}
    >
      {children}
    </a>
  );
}

function isPlain({ button, ctrlKey, metaKey, shiftKey, altKey }: MouseEvent): boolean {
  return button === 0 && !ctrlKey && !metaKey && !shiftKey && !altKey;
}
