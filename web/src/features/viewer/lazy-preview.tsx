import type { ComponentType } from 'preact';
import { type PreviewKind, previewKindOf } from '../../platform/preview-kinds.ts';
import { useLoaded } from '../../ui/loading.ts';
import { NoPreview } from './file-notices.tsx';
import { Loading, NotLoadedNotice } from './notices.tsx';
import type { PreviewProps } from './viewer-tools.ts';

/** The preview of a file. The code of each kind loads when the first file of that kind is shown. */
export function LazyPreview(props: PreviewProps) {
  const kind = previewKindOf(props.entry);
  return kind === 'none' ? <NoPreview {...props} /> : <Loaded kind={kind} {...props} />;
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
  text: () => import('./text/text-preview.tsx').then(({ TextPreview }) => TextPreview),
};

/** The loaded previews, so that the next file of a kind appears immediately. */
const loaded = new Map<LazyKind, ComponentType<PreviewProps>>();

function Loaded({ kind, ...props }: PreviewProps & { kind: LazyKind }) {
  const fetched = useLoaded(async () => {
    if (!loaded.has(kind)) loaded.set(kind, await MODULES[kind]());
  });

  const Component = loaded.get(kind);
  if (Component) return <Component {...props} />;
  return fetched.state === 'failed' ? <NotLoadedNotice retry={fetched.retry} /> : <Loading />;
}
