import type { ComponentChildren } from 'preact';
import type { Place } from '../../../platform/router.ts';
import { usePage } from '../../page.ts';
import { isFolderPath, parentOf } from '../../../platform/paths.ts';
import { ID_PREFIX } from './id-prefix.ts';
import { resolveDestination } from './resolve-path.ts';

interface MarkdownLinkProps {
  folder: string;
  href: string | undefined;
  id: string | undefined;
  label: string | undefined;
  children: ComponentChildren;
}

/** A link of a text: to another place in it, to what the service has, or elsewhere in a window of its own. */
export function MarkdownLink({ folder, href, id, label, children }: MarkdownLinkProps) {
  const page = usePage();
  const destination = href === undefined ? undefined : resolveDestination(folder, href);
  switch (destination?.kind) {
    case undefined:
      return <span id={id}>{children}</span>;
    case 'elsewhere':
      return (
        <a id={id} href={destination.url} target="_blank" rel="noopener noreferrer">
          {children}
        </a>
      );
    case 'fragment':
      return (
        <a
          id={id}
          aria-label={label}
          href={`#${destination.fragment}`}
          onClick={(event) => {
            event.preventDefault();
            showFragment(destination.fragment);
          }}
        >
          {children}
        </a>
      );
    case 'path': {
      // What is known as a folder may be written without its slash.
      const isFolder = isFolderPath(destination.path) || page.folder.entryOf(`${destination.path}/`) !== undefined;
      const place: Place = isFolder
        ? { folder: isFolderPath(destination.path) ? destination.path : `${destination.path}/`, preview: null }
        : { folder: parentOf(destination.path), preview: destination.path };
      return (
        <a
          id={id}
          href={page.urls.page(place.folder, place.preview)}
          onClick={(event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
            event.preventDefault();
            page.location.go(place);
          }}
        >
          {children}
        </a>
      );
    }
  }
}

function showFragment(fragment: string): void {
  const target = document.getElementById(`${ID_PREFIX}${fragment}`);
  if (!target) return;
  target.scrollIntoView({ block: 'start' });
  // So that reading goes on from there by keyboard, too.
  target.tabIndex = -1;
  target.focus({ preventScroll: true });
}
