/** As much of an answer as tells whose it is. */
interface S3Answer {
  $metadata: { httpStatusCode?: number | undefined };
  Bucket?: string | undefined;
  ContentType?: string | undefined;
  ETag?: string | undefined;
  Name?: string | undefined;
  UploadId?: string | undefined;
}

const hasTag = ({ ETag }: S3Answer) => ETag !== undefined;
const isEmpty = ({ $metadata }: S3Answer) => $metadata.httpStatusCode === 204;

/** What a store's answer to a command has. */
const marks: Readonly<Record<string, (answer: S3Answer) => boolean>> = {
  AbortMultipartUpload: isEmpty,
  CompleteMultipartUpload: hasTag,
  CreateMultipartUpload: ({ UploadId }) => UploadId !== undefined,
  DeleteObject: isEmpty,
  // No page is kept there, and servers of pages have tags as well.
  GetObject: (answer) => hasTag(answer) && !answer.ContentType?.startsWith("text/html"),
  ListMultipartUploads: ({ Bucket }) => Bucket !== undefined,
  ListObjectsV2: ({ Name }) => Name !== undefined,
  PutObject: hasTag,
  UploadPart: hasTag,
};

/**
 * Whatever stands in the way can say 200, such as a proxy's page: a store's answers name what they are about.
 * @throws Error where one does not
 */
export function expectStore(command: string, answer: S3Answer): void {
  if (marks[command]?.(answer) === false) throw new Error("The answer is not a store's");
}
