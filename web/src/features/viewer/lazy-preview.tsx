import type { ComponentType } from 'preact';
import { type PreviewKind, previewKindOf } from '../../platform/preview-kinds.ts';
import { useLoaded } from '../../ui/loading.ts';
import { useVisit } from '../models.ts';
import { CountedFile, NoPreview } from './file-notices.tsx';
import { Loading, NotLoadedNotice } from './notices.tsx';
import type { PreviewProps } from './viewer-tools.ts';

/** The preview of each file and each version in turn. A file that is being created or renamed has no ETag, and can't be read yet. */
export function ShownFile({ entry, viewer }: PreviewProps) {
  const isPhoto = previewKindOf(entry) === 'image';
  if (entry.etag === '') return <Loading />;
  // A photo that changed remains visible until its new version is loaded.
  return <LazyPreview key={isPhoto ? entry.path : `${entry.path} ${entry.etag}`} {...{ entry, viewer }} />;
}

/** The preview of a file. The code of each kind loads when the first file of that kind is shown. */
export function LazyPreview(props: PreviewProps) {
  const visit = useVisit();
  const kind = previewKindOf(props.entry);
  if (visit?.countsDownloads) return <CountedFile visit={visit} entry={props.entry} />;
  return kind === 'none' ? <NoPreview {...props} /> : <LoadedPreview kind={kind} {...props} />;
}

type LazyKind = Exclude<PreviewKind, 'none'>;

const media = () => import('./media/media-preview.tsx').then(({ MediaPreview }) => MediaPreview);

const MODULES: Readonly<Record<LazyKind, () => Promise<ComponentType<PreviewProps>>>> = {
  image: () => import('./image/image-preview.tsx').then(({ ImagePreview }) => ImagePreview),
  video: media,
  audio: media,
  pdf: () => import('./pdf/pdf-preview.tsx').then(({ PdfPreview }) => PdfPreview),
  markdown: () => import('./markdown/markdown-preview.tsx').then(({ MarkdownPreview }) => MarkdownPreview),
  json: () => import('./json/json-preview.tsx').then(({ JsonPreview }) => JsonPreview),
  table: () => import('./table/table-preview.tsx').then(({ TablePreview }) => TablePreview),
  office: () => import('./office/office-preview.tsx').then(({ OfficePreview }) => OfficePreview),
  text: () => import('./text/text-preview.tsx').then(({ TextPreview }) => TextPreview),
};

/** The loaded previews, so that the next file of a kind appears immediately. */
const loadedPreviews = new Map<LazyKind, ComponentType<PreviewProps>>();

function LoadedPreview({ kind, ...props }: PreviewProps & { kind: LazyKind }) {
  const loaded = useLoaded(async () => {
    if (!loadedPreviews.has(kind)) loadedPreviews.set(kind, await MODULES[kind]());
  });

  const Component = loadedPreviews.get(kind);
  if (Component) return <Component {...props} />;
  return loaded.state === 'failed' ? <NotLoadedNotice retry={loaded.retry} /> : <Loading />;
}
