/** The parts of a response that identify its sender. */
interface S3Response {
  $metadata: { httpStatusCode?: number | undefined };
  Bucket?: string | undefined;
  ContentType?: string | undefined;
  ETag?: string | undefined;
  Name?: string | undefined;
  UploadId?: string | undefined;
}

const hasTag = ({ ETag }: S3Response) => ETag !== undefined;
const isEmpty = ({ $metadata }: S3Response) => $metadata.httpStatusCode === 204;

/** What each command's response contains when it comes from an object store. */
const isStoreResponse: Readonly<Record<string, (answer: S3Response) => boolean>> = {
  AbortMultipartUpload: isEmpty,
  CompleteMultipartUpload: hasTag,
  CreateMultipartUpload: ({ UploadId }) => UploadId !== undefined,
  DeleteObject: isEmpty,
  // The store holds no HTML, while web servers also send entity tags.
  GetObject: (answer) => hasTag(answer) && !answer.ContentType?.startsWith("text/html"),
  ListMultipartUploads: ({ Bucket }) => Bucket !== undefined,
  ListObjectsV2: ({ Name }) => Name !== undefined,
  PutObject: hasTag,
  UploadPart: hasTag,
};

/**
 * Checks that a response came from an object store: a proxy's page may also have status 200.
 * @throws Error for other responses
 */
export function requireStoreResponse(command: string, answer: S3Response): void {
  if (isStoreResponse[command]?.(answer) === false)
    throw new Error("The response does not come from an object store");
}
