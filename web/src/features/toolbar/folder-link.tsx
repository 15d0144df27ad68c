import type { ComponentChildren } from 'preact';
import { isWritableTarget } from '../../model/folder/folder.ts';
import { useDragging } from '../dragging/dragging.ts';
import { useFolder, useRouter, useUrls } from '../models.ts';

interface FolderLinkProps {
  folder: string;
  children: ComponentChildren;
  class?: string;
}

/** A link to the page of a folder, which takes what is dropped on it. Leading to the folder that is shown, it reads it again. */
export function FolderLink({ folder, children, class: className = '' }: FolderLinkProps) {
  const shown = useFolder();
  const router = useRouter();
  const urls = useUrls();
  const dragging = useDragging();
  const isShown = shown.path.value === folder;
  const isTarget = dragging.target.value === folder;
  return (
    <a
      class={isTarget ? `${className} drop-target` : className}
      href={urls.page(folder)}
      aria-current={isShown ? 'page' : undefined}
      data-drop-folder={isShown && !isWritableTarget(shown) ? undefined : folder}
      draggable={false}
      onClick={(event) => {
        // Anything else is the browser's: another tab, another window, a download.
        if (!isPlain(event)) return;
        event.preventDefault();
        if (isShown) void shown.refresh();
        else router.openFolder(folder);
      }}
    >
      {children}
    </a>
  );
}

function isPlain({ button, ctrlKey, metaKey, shiftKey, altKey }: MouseEvent): boolean {
  return button === 0 && !ctrlKey && !metaKey && !shiftKey && !altKey;
}
