import type { Root } from 'hast';
import { type Components, toJsxRuntime } from 'hast-util-to-jsx-runtime';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Fragment, jsx, jsxs } from 'preact/jsx-runtime';
import { isFolderPath, nameOf, parentOf } from '../../../platform/paths.ts';
import { isSvg } from '../../../platform/preview-kinds.ts';
import type { Route } from '../../../platform/router.ts';
import type { FileEntry } from '../../../platform/service/service.ts';
import { type Text, useFullLanguage } from '../../../platform/text/language.ts';
import { Icon } from '../../../ui/icon.tsx';
import { useLoaded } from '../../../ui/loading.ts';
import { isPlainClick } from '../../../ui/plain-click.ts';
import { useFolder, useRouter, useUrls } from '../../models.ts';
import { Loading, NotLoadedNotice } from '../notices.tsx';
import { TextErrorBoundary, TextFallback, WholeText, WithSource } from '../text/rendered-text.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import { runJob, WorkerNotLoaded } from '../worker/run-job.ts';
import { type Destination, ID_PREFIX, resolveDestination } from './links.ts';
import '../text/bidi-controls.css';
import '../text/source.css';
import './markdown.css';

/** Renders Markdown. */
export function MarkdownPreview({ entry, viewer }: PreviewProps) {
  return <WholeText entry={entry}>{(source) => <Parsed {...{ entry, viewer, source }} />}</WholeText>;
}

function Parsed({ entry, viewer, source }: PreviewProps & { source: string }) {
  const { text } = useFullLanguage();
  const { footnotes, backToText, markdownFailed, markdownEmpty } = text.previews;
  const parsed = useLoaded(
    (signal) => runJob({ kind: 'markdown', text: source, labels: { footnotes, backToText } }, signal),
    [source, text],
  );
  if (parsed.state === 'loading') return <Loading />;
  if (parsed.state === 'failed' && parsed.error instanceof WorkerNotLoaded) {
    return <NotLoadedNotice retry={parsed.retry} />;
  }
  const tree = parsed.state === 'ready' ? parsed.value : undefined;
  if (tree === undefined) return <TextFallback {...{ entry, viewer }} reason={markdownFailed} />;
  if (tree === 'nothing') return <TextFallback {...{ entry, viewer }} reason={markdownEmpty} />;
  return (
    <TextErrorBoundary {...{ entry, viewer }} reason={markdownFailed}>
      <WithSource name={entry.name} text={source} viewer={viewer}>
        <Markdown entry={entry} tree={tree} />
      </WithSource>
    </TextErrorBoundary>
  );
}

/** Renders parsed Markdown. */
function Markdown({ entry, tree }: { entry: FileEntry; tree: Root }) {
  const { text } = useFullLanguage();
  const drawn = useMemo(
    () =>
      toJsxRuntime(tree, {
        Fragment,
        jsx,
        jsxs,
        elementAttributeNameCase: 'html',
        // The content security policy forbids the attribute `style`, which would contain the alignment of cells.
        tableCellAlignToStyle: false,
        components: markdownComponents(entry, text),
      }),
    [tree, entry, text],
  );
  return (
    <div
      class="markdown-scroller"
      role="region"
      aria-label={text.previews.contentsOf({ name: entry.name })}
      tabIndex={0}
      dir="auto"
      data-scroller
    >
      <article class="markdown">{drawn}</article>
    </div>
  );
}

/** Returns the components for links, images and task list items. */
function markdownComponents(entry: FileEntry, { previews }: Text): Partial<Components> {
  const folder = parentOf(entry.path);
  return {
    a: ({ href, id, 'aria-label': label, children }) => (
      <MarkdownLink {...{ folder, href, id, children }} label={typeof label === 'string' ? label : undefined} />
    ),
    img: ({ src, alt, width }) => <MarkdownImage {...{ folder, src, alt, width }} />,
    input: ({ checked }) => (
      <span class={`task ${checked ? 'done' : ''}`} role="img" aria-label={checked ? previews.done : previews.toDo}>
        {checked && <Icon name="check" />}
      </span>
    ),
  };
}

interface MarkdownImageProps {
  folder: string;
  src: string | undefined;
  alt: string | undefined;
  width: string | number | undefined;
}

/**
 * An image in Markdown. An external image is rendered as a link, because loading it would disclose to its host who
 * reads the file. An SVG is a link to its preview, because drawing it can block the page.
 */
function MarkdownImage({ folder, src, alt = '', width }: MarkdownImageProps) {
  const urls = useUrls();
  const { text } = useFullLanguage();
  const destination = src === undefined ? undefined : resolveDestination(folder, src);
  const isPath = destination?.kind === 'path';
  if (isPath && !isSvg({ name: nameOf(destination.path), contentType: '' })) {
    return <img src={urls.file(destination.path)} alt={alt} width={width} loading="lazy" draggable={false} />;
  }
  const description = text.previews.externalImage({ description: alt || sourceOf(destination) });
  if (isPath) {
    return (
      <MarkdownLink folder={folder} href={src} id={undefined} label={undefined}>
        <span class="image-link">
          <Icon name="image" />
          {description}
        </span>
      </MarkdownLink>
    );
  }
  if (destination?.kind !== 'external') return <span>{description}</span>;
  return (
    <a class="image-link" href={destination.url} target="_blank" rel="noopener noreferrer">
      <Icon name="image" />
      {description}
    </a>
  );
}

/** Returns the name of an image in the service, or the host of an external one. */
function sourceOf(destination: Destination | undefined): string {
  if (destination?.kind === 'path') return nameOf(destination.path);
  if (destination?.kind !== 'external') return '…';
  return URL.canParse(destination.url) ? new URL(destination.url).host : destination.url;
}

interface MarkdownLinkProps {
  folder: string;
  href: string | undefined;
  id: string | undefined;
  label: string | undefined;
  children: ComponentChildren;
}

/**
 * A link in Markdown: to a heading of the document, to a file or folder of the service, or to an external URL in a new
 * window.
 */
function MarkdownLink({ folder, href, id, label, children }: MarkdownLinkProps) {
  const shown = useFolder();
  const router = useRouter();
  const urls = useUrls();
  const destination = href === undefined ? undefined : resolveDestination(folder, href);
  switch (destination?.kind) {
    case undefined:
      return <span id={id}>{children}</span>;
    case 'external':
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
      // Authors often omit the slash at the end of a folder.
      const isFolder = isFolderPath(destination.path) || shown.entryOf(`${destination.path}/`) !== undefined;
      const route: Route = isFolder
        ? { folder: isFolderPath(destination.path) ? destination.path : `${destination.path}/`, preview: null }
        : { folder: parentOf(destination.path), preview: destination.path };
      return (
        <a
          id={id}
          href={urls.page(route.folder, route.preview)}
          onClick={(event) => {
            if (!isPlainClick(event)) return;
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
  // Screen readers and the Tab key continue from the heading.
  target.tabIndex = -1;
  target.focus({ preventScroll: true });
}
