import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { hasThumbnail } from '../../../platform/file-kinds.ts';
import { isSvg } from '../../../platform/preview-kinds.ts';
import type { FileEntry } from '../../../platform/service/service.ts';
import { type Text, useFullLanguage } from '../../../platform/text/language.ts';
import { Button } from '../../../ui/button.tsx';
import { useLoaded } from '../../../ui/loading.ts';
import { useFolder, useService, useUrls } from '../../models.ts';
import { contentUrl } from '../content-url.ts';
import { ContentProblem, FailedElement, NoPreview } from '../file-notices.tsx';
import { preloadNeighbours } from '../gallery.ts';
import { Loading, NotLoadedNotice } from '../notices.tsx';
import { type PreviewProps, useTools, type ViewerTool } from '../viewer-tools.ts';
import { WorkerNotLoaded } from '../worker/run-job.ts';
import { readLightSvg } from './read-svg.ts';
import { useZoom, type ZoomControl } from './zoom.ts';
import './image-preview.css';

/**
 * Shows an image fitted to the window, which the user can zoom and move. The `img` element runs no scripts of an SVG.
 */
export function ImagePreview({ entry, viewer }: PreviewProps) {
  const { text } = useFullLanguage();
  const urls = useUrls();
  const [isFailed, setFailed] = useState(false);
  const source = contentUrl(urls, entry);
  const image = { entry, viewer, onFail: () => setFailed(true) };
  if (!isFailed) return isSvg(entry) ? <SvgImage {...image} /> : <Image {...image} source={source} />;
  const { noPreview, imageFailed, imageFailedHint } = text.previews;
  const reasons = isRarelySupported(entry) ? { reason: noPreview } : { reason: imageFailed, hint: imageFailedHint };
  return <FailedElement entry={entry} {...reasons} onRetry={() => setFailed(false)} />;
}

/** Returns whether few browsers display the format, so that a failure does not mean a damaged file. */
function isRarelySupported({ contentType }: FileEntry): boolean {
  return /^image\/(tiff|hei[cf]|jxl)\b/i.test(contentType);
}

interface ImageProps extends PreviewProps {
  source: string;
  onFail: () => void;
}

/** Shows an SVG unless drawing it would block the page. The user can show it anyway. */
function SvgImage({ entry, viewer, onFail }: Omit<ImageProps, 'source'>) {
  const urls = useUrls();
  const service = useService();
  const { text } = useFullLanguage();
  const [isForced, setForced] = useState(false);
  const loaded = useLoaded((signal) => readLightSvg(service, entry, signal));
  const light = loaded.state === 'ready' ? loaded.value : undefined;
  const source = useMemo(() => light && URL.createObjectURL(light), [light]);
  useEffect(() => () => source && URL.revokeObjectURL(source), [source]);

  if (isForced) return <Image {...{ entry, viewer, onFail }} source={contentUrl(urls, entry)} />;
  if (source !== undefined) return <Image {...{ entry, viewer, onFail, source }} />;
  if (loaded.state === 'loading') return <Loading />;
  if (loaded.state === 'failed') return <SvgProblem entry={entry} error={loaded.error} onRetry={loaded.retry} />;
  const { svgTooComplex, svgTooComplexHint, showAnyway } = text.previews;
  const action = <Button onClick={() => setForced(true)}>{showAnyway}</Button>;
  return <NoPreview entry={entry} reason={svgTooComplex} hint={svgTooComplexHint} action={action} />;
}

function SvgProblem({ entry, error, onRetry }: { entry: FileEntry; error: Error; onRetry: () => void }) {
  if (error instanceof WorkerNotLoaded) return <NotLoadedNotice retry={onRetry} />;
  return <ContentProblem {...{ entry, error, onRetry }} />;
}

function Image({ entry, viewer, source, onFail }: ImageProps) {
  const urls = useUrls();
  const folder = useFolder();
  const { text, formats } = useFullLanguage();
  const stage = useRef<HTMLDivElement>(null);
  const image = useRef<HTMLImageElement>(null);
  const [isLoaded, setLoaded] = useState(false);
  const control = useZoom(stage, image);
  const { scale, x, y } = control.zoom.value;
  const isEnlarged = scale > 1;

  useTools(viewer, () => toolsOf(control, isEnlarged, text), [isEnlarged, text]);
  useEffect(() => {
    if (isLoaded) preloadNeighbours(entry, folder, urls);
  }, [isLoaded]);

  return (
    <div ref={stage} class={`image-preview ${isEnlarged ? 'enlarged' : ''}`}>
      {!isLoaded && <Placeholder entry={entry} />}
      <img
        ref={image}
        class={`picture ${isLoaded ? 'loaded' : ''} ${control.isStep.value ? 'step' : ''}`}
        style={{ transform: `translate(${x}px, ${y}px) scale(${scale})` }}
        src={source}
        alt={entry.name}
        draggable={false}
        onLoad={() => setLoaded(true)}
        onError={onFail}
      />
      <output class={isEnlarged ? 'percentage' : 'visually-hidden'}>
        {isEnlarged && text.previews.zoom({ percentage: formats.percent(control.percentage(control.zoom.value)) })}
      </output>
    </div>
  );
}

/** Shows the thumbnail, blurred, until the image has loaded. */
function Placeholder({ entry }: { entry: FileEntry }) {
  const urls = useUrls();
  const [isLoaded, setLoaded] = useState(false);
  if (!hasThumbnail(entry)) return null;
  const url = urls.thumbnail(entry.path, entry.etag);
  return <img class={`placeholder ${isLoaded ? 'loaded' : ''}`} src={url} alt="" onLoad={() => setLoaded(true)} />;
}

/** Pixels that an arrow key moves an enlarged image. */
const ARROW_STEP = 80;

function toolsOf({ step, fit, move }: ZoomControl, isEnlarged: boolean, { previews }: Text): readonly ViewerTool[] {
  const arrows: readonly ViewerTool[] = [
    { id: 'left', keys: ['ArrowLeft'], run: () => move({ x: ARROW_STEP, y: 0 }) },
    { id: 'right', keys: ['ArrowRight'], run: () => move({ x: -ARROW_STEP, y: 0 }) },
    { id: 'up', keys: ['ArrowUp'], run: () => move({ x: 0, y: ARROW_STEP }) },
    { id: 'down', keys: ['ArrowDown'], run: () => move({ x: 0, y: -ARROW_STEP }) },
  ];
  return [
    {
      id: 'out',
      button: { icon: 'zoom-out', label: previews.zoomOut, disabled: !isEnlarged },
      keys: ['-', '_'],
      run: () => step(1 / 1.5),
    },
    { id: 'in', button: { icon: 'zoom-in', label: previews.zoomIn }, keys: ['+', '='], run: () => step(1.5) },
    { id: 'fit', button: { icon: 'fit', label: previews.fit, disabled: !isEnlarged }, keys: ['0'], run: fit },
    // While the whole image is visible, the arrow keys open the next and the previous file.
    ...(isEnlarged ? arrows : []),
  ];
}
