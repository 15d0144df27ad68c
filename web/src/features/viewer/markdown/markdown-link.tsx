import type { ComponentChildren } from 'preact';
import { isFolderPath, parentOf } from '../../../platform/paths.ts';
import type { Route } from '../../../platform/router.ts';
import { useFolder, useRouter, useUrls } from '../../models.ts';
import { ID_PREFIX } from './id-prefix.ts';
import { resolveDestination } from './resolve-path.ts';

interface MarkdownLinkProps {
  folder: string;
  href: string | undefined;
  id: string | undefined;
  label: string | undefined;
  children: ComponentChildren;
}

/** A link of a text: to another route in it, to what the service has, or elsewhere in a window of its own. */
export function MarkdownLink({ folder, href, id, label, children }: MarkdownLinkProps) {
  const shown = useFolder();
  const router = useRouter();
  const urls = useUrls();
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
      const isFolder = isFolderPath(destination.path) || shown.entryOf(`${destination.path}/`) !== undefined;
      const route: Route = isFolder
        ? { folder: isFolderPath(destination.path) ? destination.path : `${destination.path}/`, preview: null }
        : { folder: parentOf(destination.path), preview: destination.path };
      return (
        <a
          id={id}
          href={urls.page(route.folder, route.preview)}
          onClick={(event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
            event.preventDefault();
            router.go(route);
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
